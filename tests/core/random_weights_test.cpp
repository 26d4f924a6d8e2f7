// SPDX-License-Identifier: Apache-2.0
#include "core/random_weights.h"

#include <bit>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace reprise {
namespace {

// Worked out by another program from the description; any device must give exactly these.
TEST(RandomWeights, ValuesAreFixed) {
  const std::uint64_t seed = tensor_seed(7, "lm_head.weight");
  const float scale = random_scale(kRandomStddev);
  EXPECT_EQ(seed, 0x71c13cff7a464ed2u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(random_weight(seed, 0, scale)), 0xbc89535eu);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(random_weight(seed, 1, scale)), 0x3c50b885u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(random_weight(seed, std::uint64_t{1} << 32, scale)),
            0x3c7d141fu);
}

TEST(RandomWeights, LooksNormal) {
  constexpr int kCount = 1 << 20;
  const float scale = random_scale(2.0f);
  double sum = 0, squares = 0, fourth = 0, beside = 0, last = 0;
  int within_one = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = random_weight(tensor_seed(1, "t"), static_cast<std::uint64_t>(i), scale) / 2.0;
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    beside += x * last;
    last = x;
    if (std::abs(x) < 1) ++within_one;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.005);
  EXPECT_NEAR(squares / kCount, 1, 0.01);
  EXPECT_NEAR(fourth / kCount, 2.7, 0.03);  // four uniforms: 3 - 0.3
  EXPECT_NEAR(beside / kCount, 0, 0.005) << "neighbours are independent";
  EXPECT_NEAR(static_cast<double>(within_one) / kCount, 0.66928, 0.003);
}

TEST(RandomWeights, TensorsAreUnrelated) {
  std::set<std::uint64_t> seeds;
  for (int layer = 0; layer < 1000; ++layer) {
    seeds.insert(tensor_seed(0, "model.layers." + std::to_string(layer)));
    seeds.insert(tensor_seed(1, "model.layers." + std::to_string(layer)));
  }
  EXPECT_EQ(seeds.size(), 2000u);
  double product = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    product += random_weight(tensor_seed(0, "a"), i, random_scale(1)) *
               random_weight(tensor_seed(0, "b"), i, random_scale(1));
  }
  EXPECT_NEAR(product / 100000, 0, 0.015);
}

}  // namespace
}  // namespace reprise
