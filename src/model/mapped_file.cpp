// SPDX-License-Identifier: Apache-2.0
#include "model/mapped_file.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <reprise/error.h>

#include "core/text.h"

namespace reprise {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int value) : value_(value) {}
  ~FileDescriptor() {
    if (value_ >= 0) ::close(value_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

ModelError failure(const std::filesystem::path& path, const char* what) {
  const std::string reason = std::generic_category().message(errno);
  return ModelError(printable(path.string()) + ": cannot be " + what + ": " + reason);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // Non-blocking, so that a named pipe in a file's place is refused and not waited for.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw failure(path, "opened");
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) throw failure(path, "examined");
  if (!S_ISREG(facts.st_mode)) {
    throw ModelError(printable(path.string()) + ": not a regular file");
  }
  if (facts.st_size == 0) return;
  const auto size = static_cast<std::size_t>(facts.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) throw failure(path, "mapped into memory");
  data_ = static_cast<const std::byte*>(data);
  size_ = size;
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::prefetch() const noexcept {
  // A hint: the file is read correctly without it, so its failure is of no interest.
  if (size_ > 0) (void)::madvise(const_cast<std::byte*>(data_), size_, MADV_WILLNEED);
}

}  // namespace reprise
