// SPDX-License-Identifier: Apache-2.0
#include "engine/support/twins.h"

#include <gtest/gtest.h>

#include "support/f32_copy.h"
#include "support/golden.h"

namespace reprise::test {
namespace {

// Head sizes of the generic and of the fast path, both 16-bit types, a sliding window.
class CudaTwins : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = golden_folder(GetParam());
    if (!folder_) GTEST_SKIP() << GetParam() << " is not present";
  }
  std::optional<std::filesystem::path> folder_;
};

TEST_P(CudaTwins, ReplayEqualsEager) { expect_replay_equals_eager(Device::open("cuda"), *folder_); }

TEST_P(CudaTwins, ReplayEqualsEagerInF32) {
  const F32Copy copy(*folder_);
  expect_replay_equals_eager(Device::open("cuda"), copy.folder());
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, CudaTwins,
                         testing::Values("llama3-gqa-tied-f16", "mistral-sliding-bf16",
                                         "llama-hd64-bf16", "llama-hd128-bf16"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace reprise::test
