// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <reprise/error.h>

#include "core/text.h"
#include "model/safetensors.h"

namespace reprise {
namespace {

std::string_view format_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f16:
      return "F16";
    case DType::bf16:
      return "BF16";
    case DType::i32:
      return "I32";
    case DType::i64:
      return "I64";
    case DType::u8:
      return "U8";
  }
  return "?";
}

/// Widest element first, so that every tensor is aligned to its dtype when the data part is.
std::vector<const HostTensor*> write_order(std::span<const HostTensor> tensors) {
  std::vector<const HostTensor*> order;
  for (const HostTensor& tensor : tensors) {
    if (tensor.name == "__metadata__" || (tensor.data == nullptr && tensor.bytes() > 0)) {
      throw UsageError("tensor " + in_quotes(tensor.name) +
                       " cannot be written: it has no data or a " + "reserved name");
    }
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const HostTensor* a, const HostTensor* b) {
    const std::size_t wide_a = size_of(a->dtype), wide_b = size_of(b->dtype);
    return wide_a != wide_b ? wide_a > wide_b : a->name < b->name;
  });
  std::vector<std::string_view> names;
  for (const HostTensor* tensor : order) names.push_back(tensor->name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw UsageError("two tensors are called " + in_quotes(*twice));
  return order;
}

/// Length and JSON, padded with spaces so that the data begins at a multiple of 8.
std::string make_header(const std::vector<const HostTensor*>& order) {
  std::string json = "{";
  std::uint64_t offset = 0;
  for (const HostTensor* tensor : order) {
    if (json.size() > 1) json += ',';
    json += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        json_quoted(tensor->name), format_name(tensor->dtype),
                        fmt::join(tensor->shape.extents(), ","), offset, offset + tensor->bytes());
    offset += tensor->bytes();
  }
  json += '}';
  json.append((8 - json.size() % 8) % 8, ' ');
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(json.size() >> (8 * i));
  return length + json;
}

/// A file being written; on destruction it is closed, and removed unless keep() was called.
class OutputFile {
 public:
  OutputFile(std::filesystem::path target, bool direct) : target_(std::move(target)) {
    written_ = target_;
    temporary_ = !direct;
    if (direct) {
      file_ = ::open(written_.c_str(), O_WRONLY | O_CLOEXEC);
    } else {
      open_temporary();
    }
    if (file_ < 0) throw failure(errno);
  }
  ~OutputFile() {
    if (file_ >= 0) ::close(file_);
    if (temporary_) ::unlink(written_.c_str());
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::size_t size) {
    const auto* from = static_cast<const char*>(data);
    while (size > 0) {
      const ::ssize_t count = ::write(file_, from, size);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw failure(count < 0 ? errno : ENOSPC);
      from += count;
      size -= static_cast<std::size_t>(count);
    }
  }

  void keep() {
    const int file = std::exchange(file_, -1);
    if (::close(file) != 0) throw failure(errno);
    if (!temporary_) return;
    if (::rename(written_.c_str(), target_.c_str()) != 0) throw failure(errno);
    temporary_ = false;
  }

 private:
  /// Leaves errno set if it cannot.
  void open_temporary() {
    for (int attempt = 0; attempt < 100; ++attempt) {
      written_ = target_;
      written_ += fmt::format(".{}-{}.tmp", ::getpid(), attempt);
      file_ = ::open(written_.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0666);
      if (file_ >= 0 || errno != EEXIST) break;  // taken by another thread of this process
    }
  }

  Error failure(int code) const {
    return Error(fmt::format("{}: cannot be written: {}", printable(target_.string()),
                             std::generic_category().message(code)));
  }

  std::filesystem::path target_;
  std::filesystem::path written_;
  bool temporary_ = false;
  int file_ = -1;
};

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const HostTensor> tensors) {
  const std::vector<const HostTensor*> order = write_order(tensors);
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  // Renaming over a symbolic link would replace the link, so follow it first.
  const bool exists = std::filesystem::exists(status);
  const auto target = exists ? std::filesystem::canonical(path, ignored) : path;
  const bool direct = exists && !std::filesystem::is_regular_file(status);
  OutputFile file(target.empty() ? path : target, direct);
  const std::string header = make_header(order);
  file.write(header.data(), header.size());
  for (const HostTensor* tensor : order) file.write(tensor->data, tensor->bytes());
  file.keep();
}

}  // namespace reprise
