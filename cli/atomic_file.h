// SPDX-License-Identifier: Apache-2.0
// A result file that is there whole or not at all.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

namespace reprise::cli {

/// Tries a file beside `path` at once, so that a place where nothing can be written is known before
/// the work that leads to the contents. The trial is removed, so that a run which is interrupted
/// leaves nothing behind. commit() writes that file and puts it in the place of `path`. Without
/// commit() `path` stays as it was. What is no regular file (/dev/stdout, a pipe) is written
/// straight.
class AtomicFile {
 public:
  /// Throws UsageError naming `path` where it cannot be written.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Writes everything. Throws Error naming the path where that fails; `path` is then as it was.
  void commit(std::string_view contents);

 private:
  void remove_part() noexcept;

  std::filesystem::path path_;
  std::filesystem::path part_;  ///< empty: `path_` is written straight
  std::ofstream out_;
};

}  // namespace reprise::cli
