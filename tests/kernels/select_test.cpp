// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/sampling.h"
#include "kernels/support/world.h"

namespace reprise::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Rows {
  int vocabulary = 0;
  std::vector<float> logits;
  std::vector<std::int32_t> positions, alive;
  std::vector<float> temperatures;
  std::vector<std::int64_t> seeds;
  std::int32_t count = 0;

  std::vector<std::int32_t> choose(World& world, Primitives& primitives) const {
    const auto rows = static_cast<int>(positions.size());
    std::vector<std::int32_t> next(positions.size(), -5);
    primitives.select({vocabulary},
                      {.batch = {.positions = positions.data(),
                                 .row_count = &count,
                                 .alive = alive.data(),
                                 .temperatures = temperatures.data(),
                                 .seeds = seeds.data()},
                       .logits = logits.data(),
                       .next = next.data()},
                      rows, world.stream());
    world.stream().synchronize();
    return next;
  }
};

Rows make_rows(World& world, int rows, int vocabulary, float temperature) {
  const auto n = static_cast<std::size_t>(rows);
  Rows result{.vocabulary = vocabulary,
              .logits = world.normal(n * static_cast<std::size_t>(vocabulary), 3),
              .positions = std::vector<std::int32_t>(n),
              .alive = std::vector<std::int32_t>(n, 1),
              .temperatures = std::vector<float>(n, temperature),
              .seeds = std::vector<std::int64_t>(n),
              .count = rows};
  for (std::size_t i = 0; i < n; ++i) {
    result.positions[i] = world.between(0, 100000);
    result.seeds[i] = static_cast<std::int64_t>(world.random()());
  }
  return result;
}

std::int32_t greedy(World& world, Primitives& primitives, std::vector<float> logits) {
  Rows rows = make_rows(world, 1, static_cast<int>(logits.size()), 0);
  rows.logits = std::move(logits);
  return rows.choose(world, primitives)[0];
}

TEST(Select, GreedyTakesTheLowestOfEqualsAndNeverANan) {
  World world;
  std::vector<std::unique_ptr<Primitives>> all;
  all.push_back(make_reference_primitives(world.device()));
  for (const SimdLevel level : usable_levels()) all.push_back(world.simd(level));
  for (const auto& primitives : all) {
    for (const int vocabulary : {3, 16, 100, 1000}) {
      std::vector<float> logits(static_cast<std::size_t>(vocabulary), 1.0f);
      EXPECT_EQ(greedy(world, *primitives, logits), 0);
      logits.back() = 2;
      EXPECT_EQ(greedy(world, *primitives, logits), vocabulary - 1);
      logits[1] = 2;
      EXPECT_EQ(greedy(world, *primitives, logits), 1);
      logits[0] = kNan;
      EXPECT_EQ(greedy(world, *primitives, logits), 1);
      std::fill(logits.begin(), logits.end(), kNan);
      EXPECT_EQ(greedy(world, *primitives, logits), 0);
      logits[2] = -kInfinity;
      EXPECT_EQ(greedy(world, *primitives, logits), 2);
      logits[1] = kInfinity;
      EXPECT_EQ(greedy(world, *primitives, logits), 1);
    }
  }
}

TEST(Select, AgreesWithTheReferenceAtAnyTemperature) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    for (const float temperature : {0.0f, 0.01f, 0.8f, 1.0f, 5.0f, 1e-38f}) {
      const Rows rows = make_rows(world, 20, world.between(1, 3000), temperature);
      EXPECT_EQ(rows.choose(world, *world.simd(level)), rows.choose(world, world.reference()))
          << name_of(level) << " temperature " << temperature;
    }
  }
}

TEST(Select, DeadAndPaddingRowsKeepWhatTheyHeld) {
  World world;
  for (const SimdLevel level : usable_levels()) {
    Rows rows = make_rows(world, 6, 100, 0.5f);
    rows.alive[2] = 0;
    rows.count = 4;
    const auto next = rows.choose(world, *world.simd(level));
    for (const std::size_t kept : {2u, 4u, 5u}) EXPECT_EQ(next[kept], -5);
    for (const std::size_t chosen : {0u, 1u, 3u}) EXPECT_GE(next[chosen], 0);
  }
}

TEST(Select, ADrawDependsOnSeedAndPositionOnly) {
  World one(1);
  World three(3);
  SCOPED_TRACE(one.trace());
  Rows many = make_rows(one, 40, 5000, 1.3f);
  Rows alone = make_rows(one, 1, 5000, 1.3f);
  std::copy_n(alone.logits.begin(), 5000, many.logits.begin() + 17 * 5000);
  many.seeds[17] = alone.seeds[0];
  many.positions[17] = alone.positions[0];
  for (const SimdLevel level : usable_levels()) {
    EXPECT_EQ(many.choose(three, *three.simd(level))[17], alone.choose(one, *one.simd(level))[0]);
  }
}

/// Chi-square of draws against softmax(logits / temperature).
TEST(Select, DrawsFollowTheSoftmax) {
  World world;
  const int vocabulary = 12;
  const int draws = 20000;
  const float temperature = 0.7f;
  for (const std::int64_t seed : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-3}}) {
    Rows rows = make_rows(world, draws, vocabulary, temperature);
    for (int row = 0; row < draws; ++row) {
      rows.seeds[static_cast<std::size_t>(row)] = seed;
      rows.positions[static_cast<std::size_t>(row)] = row;
      for (int token = 0; token < vocabulary; ++token) {
        rows.logits[static_cast<std::size_t>(row * vocabulary + token)] =
            0.25f * static_cast<float>(token % 5);
      }
    }
    std::vector<int> counts(vocabulary);
    for (const auto token : rows.choose(world, *world.simd(SimdLevel::best))) {
      ++counts[static_cast<std::size_t>(token)];
    }
    double total = 0;
    for (int token = 0; token < vocabulary; ++token) {
      total += std::exp(double{rows.logits[static_cast<std::size_t>(token)]} / temperature);
    }
    double chi_square = 0;
    for (int token = 0; token < vocabulary; ++token) {
      const double expected =
          draws * std::exp(double{rows.logits[static_cast<std::size_t>(token)]} / temperature) /
          total;
      const double difference = counts[static_cast<std::size_t>(token)] - expected;
      chi_square += difference * difference / expected;
    }
    EXPECT_LT(chi_square, 31.3) << "11 degrees of freedom: p < 0.001; seed " << seed;
  }
}

TEST(Sampling, UniformsStayInsideAndFillTheirRange) {
  double sum = 0;
  int low = 0;
  const int count = 1 << 20;
  for (int token = 0; token < count; ++token) {
    const float u = sampling_uniform(sampling_key(7, 9), token);
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    low += u < 0x1p-10f;
  }
  EXPECT_NEAR(sum / count, 0.5, 0.002);
  EXPECT_NEAR(low, 1024, 200);
}

}  // namespace
}  // namespace reprise::testing
