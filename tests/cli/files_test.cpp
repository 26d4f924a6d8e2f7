// SPDX-License-Identifier: Apache-2.0
// What the program leaves in a folder where it writes.
#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "cli/support/program.h"

namespace reprise::test {
namespace {

namespace fs = std::filesystem;

fs::path empty_folder(const std::string& name) {
  fs::path folder = fs::path(testing::TempDir()) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

// Largest file that this process and those it starts may write.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(Files, a_file_size_limit_is_an_error_and_leaves_nothing) {
  const fs::path folder = empty_folder("reprise-size-limit");
  Ran ran;
  {
    const FileSizeLimit limit(1024);
    ran = run_program({"logits", demo_folder(), "--tokens", "1,2,3", "--out", folder / "out"});
  }
  expect_refusal(ran, 1, (folder / "out").string());
  EXPECT_TRUE(fs::is_empty(folder));
  fs::remove_all(folder);
}

TEST(Files, a_bench_that_is_interrupted_would_leave_nothing) {
  // Looks on from start to end: what is not there cannot stay behind.
  const fs::path folder = empty_folder("reprise-bench-json");
  const fs::path result = folder / "out.json";
  auto bench = std::async(std::launch::async, [&] {
    return run_program({"bench", demo_folder(), "--device", "host", "--batch", "1", "--context",
                        "1", "--steps", "1", "--json", result});
  });
  int looks_with_part = 0;
  while (bench.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (!fs::is_empty(folder) && !fs::exists(result)) ++looks_with_part;
  }
  EXPECT_EQ(bench.get().status, 0);
  // The trial at the start or the moment of writing may be seen once, no more.
  EXPECT_LE(looks_with_part, 2);
  EXPECT_TRUE(fs::exists(result));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace reprise::test
