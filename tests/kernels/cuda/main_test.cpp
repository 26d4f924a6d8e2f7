// SPDX-License-Identifier: Apache-2.0
// test_kernels_cuda [gtest options] [--seconds=N]: N seconds of random cases per test (default 1).
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "kernels/cuda/gpu_world.h"

int main(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  auto& effort = reprise::testing::Effort::of_this_run();
  for (int i = 1; i < count; ++i) {
    constexpr std::string_view kSeconds = "--seconds=";
    if (std::string_view(arguments[i]).starts_with(kSeconds)) {
      effort.seconds = std::strtod(arguments[i] + kSeconds.size(), nullptr);
    }
  }
  const int result = RUN_ALL_TESTS();
  if (effort.comparisons > 0) std::printf("%ld random cases compared\n", effort.comparisons);
  return result;
}
