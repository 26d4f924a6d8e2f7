// SPDX-License-Identifier: Apache-2.0
// The choice of the next token against the reference.
#include <cmath>
#include <limits>

#include "kernels/cuda/random_cases.h"
#include "kernels/sampling.h"

namespace reprise::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int32_t kKept = -5;  // what `next` holds before

struct Rows {
  Rows(GpuWorld& world, int row_count, int size)
      : rows(row_count), vocabulary(size), used(world.between(1, row_count)) {
    const auto n = static_cast<std::size_t>(rows);
    logits = world.normal(n * static_cast<std::size_t>(vocabulary), 3);
    for (std::size_t i = 0; i < n; ++i) {
      constexpr std::array kTemperatures{0.0f, 0.01f, 0.8f, 1.0f, 5.0f, 1e-38f};
      temperatures.push_back(kTemperatures[static_cast<std::size_t>(world.between(0, 5))]);
      alive.push_back(world.between(0, 9) > 0 ? 1 : 0);
      positions.push_back(world.between(0, 100000));
      seeds.push_back(static_cast<std::int64_t>(world.random()()));
    }
  }

  struct Choices {
    std::vector<std::int32_t> gpu, host;
  };
  Choices choose(GpuWorld& world) const {
    Image image;
    const std::size_t logits_at = image.add(logits);
    const std::size_t positions_at = image.add(positions);
    const std::size_t alive_at = image.add(alive);
    const std::size_t temperatures_at = image.add(temperatures);
    const std::size_t seeds_at = image.add(seeds);
    const std::size_t count_at = image.add(std::vector<std::int32_t>{used});
    const std::vector<std::int32_t> kept(static_cast<std::size_t>(rows), kKept);
    const std::size_t next_at = image.add_output(kept);
    const Work run = [&](Primitives& primitives, std::byte* base, Stream& stream) {
      primitives.select({vocabulary},
                        {.batch = {.positions = at<std::int32_t>(base, positions_at),
                                   .row_count = at<std::int32_t>(base, count_at),
                                   .alive = at<std::int32_t>(base, alive_at),
                                   .temperatures = at<float>(base, temperatures_at),
                                   .seeds = at<std::int64_t>(base, seeds_at)},
                         .logits = at<float>(base, logits_at),
                         .next = at<std::int32_t>(base, next_at)},
                        rows, stream);
    };
    const auto read = [&](Bytes bytes) {
      const auto* first = at<std::int32_t>(bytes.data(), next_at);
      return std::vector<std::int32_t>(first, first + rows);
    };
    return {read(world.on_gpu(image, run)), read(world.on_host(image, DType::f32, run))};
  }

  double score(std::size_t row, std::int32_t token) const {
    const float* own = logits.data() + row * static_cast<std::size_t>(vocabulary);
    const float largest = *std::max_element(own, own + vocabulary);
    const float uniform = sampling_uniform(sampling_key(seeds[row], positions[row]), token);
    return sampling_score<double>(own[token], largest, temperatures[row], uniform);
  }

  int rows, vocabulary;
  std::int32_t used;
  std::vector<float> logits, temperatures;
  std::vector<std::int32_t> positions, alive;
  std::vector<std::int64_t> seeds;
};

TEST(CudaSelect, AgreesWithTheReference) {
  random_cases(Compared::with_reference, [](GpuWorld& world) {
    const int vocabulary = world.size(3000);
    const Rows rows(world, std::min(world.rows(), 1 + 6000 / vocabulary), vocabulary);
    const auto [gpu, host] = rows.choose(world);
    for (std::size_t row = 0; row < gpu.size(); ++row) {
      if (gpu[row] == host[row]) continue;
      // Only where f32 cannot tell two draws apart may the choices differ; a greedy one never.
      ASSERT_TRUE(rows.temperatures[row] > 0 && gpu[row] >= 0 && gpu[row] < rows.vocabulary)
          << "row " << row << " chose " << gpu[row] << ", the reference " << host[row];
      const double best = rows.score(row, host[row]);
      ASSERT_NEAR(rows.score(row, gpu[row]), best, 1e-5 * std::max(1.0, std::abs(best)));
    }
  });
}

TEST(CudaSelect, GreedyTakesTheLowestOfEqualsAndNeverANan) {
  GpuWorld world;
  for (const int vocabulary : {3, 16, 100, 1000, 5000}) {
    Rows row(world, 1, vocabulary);
    row.temperatures = {0};
    row.alive = {1};
    const auto greedy = [&] { return row.choose(world).gpu[0]; };
    std::fill(row.logits.begin(), row.logits.end(), 1.0f);
    EXPECT_EQ(greedy(), 0);
    row.logits.back() = 2;
    EXPECT_EQ(greedy(), vocabulary - 1);
    row.logits[1] = 2;
    EXPECT_EQ(greedy(), 1);
    row.logits[0] = kNan;
    EXPECT_EQ(greedy(), 1);
    std::fill(row.logits.begin(), row.logits.end(), kNan);
    EXPECT_EQ(greedy(), 0);
    row.logits[2] = -kInfinity;
    EXPECT_EQ(greedy(), 2);
    row.logits[1] = kInfinity;
    row.temperatures = {1};  // an infinite largest logit is taken greedily
    EXPECT_EQ(greedy(), 1);
  }
}

TEST(CudaSelect, DeadAndPaddingRowsKeepWhatTheyHeld) {
  GpuWorld world;
  SCOPED_TRACE(world.trace());
  Rows rows(world, 6, 100);
  rows.alive = {1, 1, 0, 1, 1, 1};
  rows.used = 4;
  const auto next = rows.choose(world).gpu;
  for (const std::size_t kept : {2u, 4u, 5u}) EXPECT_EQ(next[kept], kKept);
  for (const std::size_t chosen : {0u, 1u, 3u}) EXPECT_GE(next[chosen], 0);
}

}  // namespace
}  // namespace reprise::testing
