// SPDX-License-Identifier: Apache-2.0
#include "atomic_file.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include <reprise/error.h>

#include "core/text.h"

namespace reprise::cli {
namespace {

std::string cannot(const std::filesystem::path& path, std::string_view why) {
  return fmt::format("cannot write {}: {}; name another file", in_quotes(path.string()), why);
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  const auto status = std::filesystem::status(path_, error);
  if (std::filesystem::is_directory(status)) throw UsageError(cannot(path_, "it is a folder"));
  const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  if (!special) {
    part_ = path_;
    part_ += fmt::format(".{}.part", ::getpid());
  }
  errno = 0;
  out_.open(special ? path_ : part_, std::ios::binary | std::ios::trunc);
  if (!out_) throw UsageError(cannot(path_, std::strerror(errno)));
  if (!special) remove_part();
}

AtomicFile::~AtomicFile() {
  if (!part_.empty()) remove_part();
}

void AtomicFile::remove_part() noexcept {
  out_.close();
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

void AtomicFile::commit(std::string_view contents) {
  errno = 0;
  if (!part_.empty()) out_.open(part_, std::ios::binary | std::ios::trunc);
  out_.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  out_.close();
  if (!out_) throw Error(cannot(path_, std::strerror(errno)));
  if (part_.empty()) return;
  std::error_code error;
  std::filesystem::rename(part_, path_, error);
  if (error) throw Error(cannot(path_, error.message()));
}

}  // namespace reprise::cli
