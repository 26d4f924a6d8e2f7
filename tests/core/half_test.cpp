// SPDX-License-Identifier: Apache-2.0
#include "core/half.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace reprise {
namespace {

using FromFloat = std::uint16_t (*)(float);
using ToFloat = float (*)(std::uint16_t);

void expect_all_patterns_survive(ToFloat to_float, FromFloat from_float, unsigned infinity,
                                 unsigned quiet) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float value = to_float(static_cast<std::uint16_t>(bits));
    const bool nan = (bits & 0x7fff) > infinity;
    ASSERT_EQ(std::isnan(value), nan) << bits;
    ASSERT_EQ(from_float(value), nan ? (bits | quiet) : bits) << bits;
  }
}

/// Between two neighbours, the middle goes to the even one and everything else to the nearer one.
void expect_round_to_nearest_even(ToFloat to_float, FromFloat from_float, unsigned infinity) {
  for (unsigned low = 0; low + 1 < infinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const double below = to_float(static_cast<std::uint16_t>(low));
    const auto middle = static_cast<float>((below + static_cast<double>(to_float(high))) / 2);
    ASSERT_EQ(from_float(middle), low % 2 == 0 ? low : high) << low;
    ASSERT_EQ(from_float(-middle), 0x8000u | (low % 2 == 0 ? low : high)) << low;
    ASSERT_EQ(from_float(std::nextafter(middle, 0.0f)), low) << low;
    ASSERT_EQ(from_float(std::nextafter(middle, INFINITY)), high) << low;
  }
}

TEST(Half, EveryBf16SurvivesTheWayThroughFloat) {
  expect_all_patterns_survive(float_from_bf16, bf16_from_float, 0x7f80, 0x40);
}

TEST(Half, EveryF16SurvivesTheWayThroughFloat) {
  expect_all_patterns_survive(float_from_f16, f16_from_float, 0x7c00, 0x200);
}

TEST(Half, Bf16RoundsToNearestEvenEverywhere) {
  expect_round_to_nearest_even(float_from_bf16, bf16_from_float, 0x7f80);
}

TEST(Half, F16RoundsToNearestEvenEverywhere) {
  expect_round_to_nearest_even(float_from_f16, f16_from_float, 0x7c00);
}

TEST(Half, KnownValues) {
  EXPECT_EQ(float_from_f16(0x3c00), 1.0f);
  EXPECT_EQ(float_from_f16(0xc000), -2.0f);
  EXPECT_EQ(float_from_f16(0x7bff), 65504.0f);
  EXPECT_EQ(float_from_f16(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(float_from_f16(0x7c00), INFINITY);
  EXPECT_EQ(float_from_bf16(0x3f80), 1.0f);
  EXPECT_EQ(bf16_from_float(3.14159274f), 0x4049);
}

TEST(Half, TooLargeBecomesInfinityAndTooSmallZero) {
  EXPECT_EQ(f16_from_float(65519.9961f), 0x7bff);
  EXPECT_EQ(f16_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(f16_from_float(-1e30f), 0xfc00);
  EXPECT_EQ(f16_from_float(std::ldexp(1.0f, -25)), 0);  // a tie, to even
  EXPECT_EQ(f16_from_float(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(bf16_from_float(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bf16_from_float(-INFINITY), 0xff80);
}

}  // namespace
}  // namespace reprise
