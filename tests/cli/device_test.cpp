// SPDX-License-Identifier: Apache-2.0
// What the program says about the device it was given, or was not.
#include <string>

#include <gtest/gtest.h>

#include "cli/support/program.h"
#include "device/backend.h"

namespace reprise::test {
namespace {

Ran info_on(const std::string& device) {
  std::vector<std::string> arguments{"info", "--no-measure"};
  if (!device.empty()) arguments.insert(arguments.end(), {"--device", device});
  return run_program_noted(arguments);
}

TEST(Device, AutoSaysOnceWhyItRunsOnTheHost) {
  const CudaPresence cuda = cuda_presence();
  for (const std::string device : {"", "auto"}) {
    const Ran ran = info_on(device);
    EXPECT_EQ(ran.status, 0) << ran.err;
    if (cuda.built && !cuda.usable) {
      EXPECT_TRUE(ran.err.starts_with(kHostNote)) << ran.err;
      EXPECT_NE(ran.err.find(cuda.reason), std::string::npos) << ran.err;
      EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
    } else {
      EXPECT_EQ(ran.err, "");
    }
    EXPECT_NE(ran.out.find(cuda.usable ? "cuda:0" : "host:0"), std::string::npos) << ran.out;
  }
}

TEST(Device, TheHostAskedForIsTakenWithoutANote) {
  const Ran ran = info_on("host");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.err, "");
}

TEST(Device, AskedForAndAbsentSaysWhatToDo) {
  const CudaPresence cuda = cuda_presence();
  if (cuda.usable) GTEST_SKIP() << "this machine has a GPU";
  const Ran ran = info_on("cuda");
  expect_refusal(ran, 1, "--device host");
  if (!cuda.built) {
    expect_refusal(ran, 1, "CUDA=1 make build");
    expect_refusal(ran, 1, "nvcc 12.4");
  } else {
    expect_refusal(ran, 1, cuda.reason);
  }
}

}  // namespace
}  // namespace reprise::test
