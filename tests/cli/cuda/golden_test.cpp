// SPDX-License-Identifier: Apache-2.0
// The program on the GPU against the golden checkpoints, with the gates of DESIGN §10: the weights
// as they are within their type's precision, a copy in F32 as on the host.
#include <gtest/gtest.h>

#include "cli/support/golden_checks.h"
#include "cli/support/golden_names.h"
#include "support/f32_copy.h"

namespace reprise::test {
namespace {

// f16 has a bound per position only; all of them together cannot be above it.
constexpr Gates kBf16Gates{.position = 6e-2, .together = 2e-2, .margin = 0.15};
constexpr Gates kF16Gates{.position = 1e-2, .together = 1e-2, .margin = 0.15};

class CudaGolden : public GoldenTest {};

TEST_P(CudaGolden, LogitsAgreeInAllModes) {
  const bool f16 = std::string(GetParam()).ends_with("-f16");
  expect_logits(*golden_, golden_->folder(), "cuda", f16 ? kF16Gates : kBf16Gates);
}

TEST_P(CudaGolden, LogitsOfACopyInF32AgreeInAllModes) {
  const F32Copy copy(golden_->folder());
  expect_logits(*golden_, copy.folder(), "cuda", kF32Gates);
}

TEST_P(CudaGolden, GreedyTokensOfACopyInF32AgreeEagerAndRecorded) {
  const F32Copy copy(golden_->folder());
  expect_greedy(*golden_, copy.folder(), "cuda");
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, CudaGolden, testing::ValuesIn(kGoldenNames),
                         golden_test_name);

}  // namespace
}  // namespace reprise::test
