// SPDX-License-Identifier: Apache-2.0
// The program on the host against the golden checkpoints: logits in three modes, greedy tokens in
// two, from the weights as they are and from a copy in F32.
#include <gtest/gtest.h>

#include "cli/support/golden_checks.h"
#include "cli/support/golden_names.h"
#include "support/f32_copy.h"

namespace reprise::test {
namespace {

class Golden : public GoldenTest {};

TEST_P(Golden, LogitsAgreeInAllModes) {
  expect_logits(*golden_, golden_->folder(), "host", kF32Gates);
}

TEST_P(Golden, GreedyTokensAgreeEagerAndRecorded) {
  expect_greedy(*golden_, golden_->folder(), "host");
}

TEST_P(Golden, ACopyInF32AgreesToo) {
  const F32Copy copy(golden_->folder());
  expect_logits(*golden_, copy.folder(), "host", kF32Gates);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Golden, testing::ValuesIn(kGoldenNames), golden_test_name);

}  // namespace
}  // namespace reprise::test
