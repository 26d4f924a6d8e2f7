// SPDX-License-Identifier: Apache-2.0
// A file mapped read-only into memory. Its pages are the page cache's: nothing is copied, and they
// are read on first touch. Immutable, so any thread may read. The file must not shrink while
// mapped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace reprise {

class MappedFile {
 public:
  /// Throws ModelError if `path` is no readable regular file.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Empty for an empty file.
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  /// Hint that the whole file will be read soon: the kernel starts reading ahead.
  void prefetch() const noexcept;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace reprise
