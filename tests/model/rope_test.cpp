// SPDX-License-Identifier: Apache-2.0
#include "model/rope.h"

#include <cmath>

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(Rope, FrequenciesFallFromOneGeometrically) {
  const std::vector<double> plain = rope_frequencies({.theta = 10000}, 8);
  ASSERT_EQ(plain.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(plain[i], std::pow(10.0, -static_cast<double>(i)), 1e-15);
  }
}

TEST(Rope, LinearScalingDividesEveryFrequency) {
  const RopeConfig rope{.type = RopeConfig::Type::linear, .theta = 10000, .factor = 4};
  const std::vector<double> scaled = rope_frequencies(rope, 8);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(scaled[i], std::pow(10.0, -static_cast<double>(i)) / 4, 1e-15);
  }
}

// Llama 3.1's configuration. Wavelengths are 1593.8 for pair 27, 2401.7, 3619.2 and 6695.1 for the
// next ones below and 8218.7 for pair 35; 2048 and 8192 are the bounds.
TEST(Rope, Llama3ScalingKeepsHighFrequenciesAndBlendsBetweenTheBounds) {
  const RopeConfig rope{.type = RopeConfig::Type::llama3,
                        .theta = 500000,
                        .factor = 8,
                        .low_freq_factor = 1,
                        .high_freq_factor = 4,
                        .original_max_positions = 8192};
  const std::vector<double> scaled = rope_frequencies(rope, 128);
  const std::vector<double> plain = rope_frequencies({.theta = 500000}, 128);
  const auto expect_share = [&](std::size_t pair, double share) {
    EXPECT_NEAR(scaled[pair] / plain[pair], share, 1e-9) << pair;
  };
  expect_share(0, 1);
  expect_share(27, 1);
  expect_share(29, 0.8281684118);
  expect_share(31, 0.4935071227);
  expect_share(34, 0.1902107436);
  expect_share(35, 0.125);
  expect_share(63, 0.125);
}

TEST(Rope, TheTableHoldsCosineAndSineOfEveryPositionAndPair) {
  const std::vector<float> table = rope_table({.theta = 100}, 4, 3);
  ASSERT_EQ(table.size(), 3u * 4);
  for (std::size_t position = 0; position < 3; ++position) {
    for (std::size_t pair = 0; pair < 2; ++pair) {
      const double angle = static_cast<double>(position) * (pair == 0 ? 1 : 0.1);
      EXPECT_FLOAT_EQ(table[4 * position + 2 * pair], static_cast<float>(std::cos(angle)));
      EXPECT_FLOAT_EQ(table[4 * position + 2 * pair + 1], static_cast<float>(std::sin(angle)));
    }
  }
}

}  // namespace
}  // namespace reprise
