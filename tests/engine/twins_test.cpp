// SPDX-License-Identifier: Apache-2.0
#include "engine/support/twins.h"

#include <gtest/gtest.h>

#include "support/f32_copy.h"
#include "support/golden.h"

namespace reprise::test {
namespace {

TEST(Twins, ReplayEqualsEagerOnTheHost) {
  expect_replay_equals_eager(Device::open("host"), *golden_folder("llama3-gqa-tied-f16"));
}

TEST(Twins, ReplayEqualsEagerOnTheHostInF32) {
  const F32Copy copy(*golden_folder("mistral-sliding-bf16"));
  expect_replay_equals_eager(Device::open("host"), copy.folder());
}

}  // namespace
}  // namespace reprise::test
