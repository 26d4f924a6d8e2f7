// SPDX-License-Identifier: Apache-2.0
// The ladder: sizes, order of recording, one memory pool, padding, equality of eager and replay.
#include <cmath>

#include <gmock/gmock.h>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

class PoolLadder : public PoolTest {
 protected:
  GraphPool recorded_pool(std::vector<int> sizes, int max_rows, StepParts parts) {
    GraphPool pool(device_, step(std::move(parts)), options(std::move(sizes), max_rows));
    pool.bind("weights", weight_rows(max_rows));
    report_ = pool.record();
    return pool;
  }
  GraphPool recorded_pool(std::vector<int> sizes, int max_rows) {
    return recorded_pool(std::move(sizes), max_rows, StepParts{});
  }
  RecordReport report_;
};

TEST_F(PoolLadder, DefaultSizesEndAtTheMaximum) {
  EXPECT_EQ(default_ladder(1), (std::vector<int>{1}));
  EXPECT_EQ(default_ladder(20), (std::vector<int>{1, 2, 4, 8, 16, 20}));
  EXPECT_EQ(default_ladder(256).size(), 35u);
  EXPECT_EQ(default_ladder(512).size(), 51u);
  EXPECT_EQ(default_ladder(300).back(), 300);
  EXPECT_THROW(default_ladder(0), UsageError);
}

TEST_F(PoolLadder, RecordsInDescendingOrderOnOnePool) {
  GraphPool pool = recorded_pool({1, 2, 4, 8, 16, 32}, 32);
  EXPECT_EQ(report_.recorded, (std::vector<int>{32, 16, 8, 4, 2, 1}));
  EXPECT_TRUE(report_.disabled.empty());
  // Largest first, and given back after each size: the memory of all is that of the largest.
  const MemoryStatistics memory = pool.memory()->statistics();
  EXPECT_EQ(memory.allocated_bytes.current, 0u);
  EXPECT_EQ(memory.segment.current, 1u);
  EXPECT_GE(memory.allocated_bytes.peak, 32u * kWidth * sizeof(float));
  EXPECT_LT(memory.allocated_bytes.peak, 2u * 32u * kWidth * sizeof(float));
  for (const BucketReport& bucket : pool.buckets()) {
    EXPECT_EQ(bucket.state, RunState::recorded) << bucket.rows;
    EXPECT_EQ(bucket.nodes, 4u) << bucket.rows;
  }
  EXPECT_EQ(pool.graph(8).nodes().front().label, "affine / copy_scaled");
}

TEST_F(PoolLadder, EverySizeIsWarmedUpBeforeAnyIsRecorded) {
  // A smaller size may need a larger workspace, and a kernel's first launch may load its module.
  std::vector<int> warmed;
  std::vector<std::size_t> warmed_before;  // each recording
  Step watched = step();
  watched.run = [&](StepContext& context) {
    if (context.phase() == StepPhase::warm_up) warmed.push_back(context.rows());
    if (context.phase() == StepPhase::recording) warmed_before.push_back(warmed.size());
    run_step(context, false);
  };
  GraphPool pool(device_, watched, options({1, 4, 8}, 12));
  pool.bind("weights", weight_rows(12));
  pool.record();
  EXPECT_THAT(warmed, ::testing::UnorderedElementsAre(1, 4, 8, 12));  // 12: what may run eagerly
  EXPECT_EQ(warmed_before, (std::vector<std::size_t>{4, 4, 4}));
}

TEST_F(PoolLadder, WarmsUpAsOftenAsAsked) {
  std::vector<int> warmed;
  Step watched = step();
  watched.run = [&](StepContext& context) {
    if (context.phase() == StepPhase::warm_up) warmed.push_back(context.rows());
    run_step(context, false);
  };
  GraphPoolOptions often = options({1, 2}, 2);
  often.warm_ups = 3;
  GraphPool pool(device_, watched, often);
  pool.bind("weights", weight_rows(2));
  pool.record();
  EXPECT_THAT(warmed, ::testing::UnorderedElementsAre(1, 1, 1, 2, 2, 2));
  often.warm_ups = 0;
  expect_parts(usage_error_of([&] { GraphPool(device_, step(), often); }), {"warm-up"});
}

TEST_F(PoolLadder, EverySizeGivesWhatEagerGives) {
  GraphPool pool = recorded_pool({1, 2, 4, 8, 16, 32}, 32);
  for (int rows = 1; rows <= 32; ++rows) {
    const std::vector<float> x = batch(rows, static_cast<float>(rows));
    EXPECT_EQ(pool.run(rows, {{"x", rows_of(x)}}).path, RunPath::replay);
    const std::vector<float> replayed = read_out(pool);
    EXPECT_EQ(pool.run(rows, {{"x", rows_of(x)}}, RunMode::eager).path, RunPath::eager);
    EXPECT_EQ(replayed, read_out(pool)) << rows;
    EXPECT_EQ(replayed, expected(x)) << rows;
  }
  EXPECT_EQ(pool.counters().replays, 32u);
  EXPECT_EQ(pool.counters().eager_steps, 32u);
  EXPECT_EQ(pool.counters().all_fallbacks(), 0u);
}

TEST_F(PoolLadder, PadsFiveRowsToEightWithoutATrace) {
  const std::vector<float> x = batch(5, 7);
  GraphPool clean = recorded_pool({8}, 8);
  const RunResult result = clean.run(5, {{"x", rows_of(x)}});
  EXPECT_EQ(result.bucket, 8);
  EXPECT_EQ(result.rows, 5);
  EXPECT_EQ(clean.counters().padded_rows, 3u);
  const std::vector<float> plain = read_out(clean);
  EXPECT_EQ(plain.size(), 5u * kWidth);
  EXPECT_EQ(plain, expected(x));
  clean.run(5, {{"x", rows_of(x)}}, RunMode::eager);
  EXPECT_EQ(plain, read_out(clean));
  for (const float poison : {std::numeric_limits<float>::infinity(), -1e30F, 123.0F}) {
    GraphPool poisoned = recorded_pool({8}, 8, {.pad = poison});
    poisoned.run(5, {{"x", rows_of(x)}});
    EXPECT_EQ(plain, read_out(poisoned)) << poison;
  }
}

TEST_F(PoolLadder, ARowDependsOnNoNeighbour) {
  GraphPool pool = recorded_pool({8}, 8);
  std::vector<float> x = batch(5, 7);
  pool.run(5, {{"x", rows_of(x)}});
  const std::vector<float> before = read_out(pool);
  for (std::size_t i = kWidth; i < x.size(); ++i) x[i] = std::nanf("");
  pool.run(5, {{"x", rows_of(x)}});
  const std::vector<float> after = read_out(pool);
  for (std::size_t i = 0; i < kWidth; ++i) EXPECT_EQ(before[i], after[i]);
}

TEST_F(PoolLadder, TenThousandReplaysOfRandomSizesEqualTheirEagerTwin) {
  GraphPool pool = recorded_pool({1, 2, 4, 8, 16, 32}, 32);
  std::uint32_t random = 12345;
  for (int run = 0; run < 10'000; ++run) {
    random = random * 1664525u + 1013904223u;
    const int rows = 1 + static_cast<int>((random >> 16) % 32);
    const std::vector<float> x = batch(rows, static_cast<float>(run));
    ASSERT_EQ(pool.run(rows, {{"x", rows_of(x)}}).path, RunPath::replay);
    ASSERT_EQ(read_out(pool), expected(x)) << "run " << run << ", rows " << rows;
  }
}

TEST_F(PoolLadder, StateIsAsBeforeAfterRecording) {
  Buffer total = device_floats(batch(8, 50), "total");
  GraphPool pool(device_, step({.state = true}), options({1, 4, 8}, 8));
  pool.bind("weights", weight_rows(8));
  pool.bind("total", rows_of(total, 8));
  pool.record();
  std::vector<float> after(8 * kWidth);
  total.to_host(pool.stream(), std::as_writable_bytes(std::span(after)));
  EXPECT_EQ(after, batch(8, 50));
  pool.run(8, {{"x", rows_of(batch(8, 1))}});
  total.to_host(pool.stream(), std::as_writable_bytes(std::span(after)));
  EXPECT_EQ(after, batch(8, 51));
}

TEST_F(PoolLadder, SelfTestDisablesASizeWhoseWorkLeaks) {
  Step leaking = step();
  Stream leak = device_->create_stream("leak");
  Buffer elsewhere = floats(0);  // what leaks must not race with what the test reads
  leaking.run = [&](StepContext& context) {
    run_step(context, false);
    // Work on a stream that did not join: it runs at once, and is missing from the recording.
    if (context.rows() == 4) {
      const auto n = static_cast<std::size_t>(4 * kWidth);
      context.stream().fill({context.tensor("out").data, n * sizeof(float), MemorySpace::device},
                            0);
      if (context.phase() != StepPhase::recording) {
        kit_->add(context.stream(), context.tensor("out").as<float>(), n, 1);
      } else {
        kit_->add(leak, data(elsewhere), n, 1);
      }
    }
  };
  GraphPool pool(device_, leaking, options({2, 4}, 4));
  pool.bind("weights", weight_rows(4));
  const RecordReport report = pool.record();
  EXPECT_EQ(report.disabled, (std::vector<int>{4}));
  EXPECT_EQ(pool.buckets()[1].state, RunState::disabled);
  expect_parts(pool.buckets()[1].reason, {"replay differs from eager", "out"});
  const RunResult result = pool.run(3, {{"x", rows_of(batch(3, 1))}});
  EXPECT_EQ(result.path, RunPath::eager);
  EXPECT_EQ(result.reason, FallbackReason::bucket_disabled);
  EXPECT_EQ(pool.run(2, {{"x", rows_of(batch(2, 1))}}).path, RunPath::replay);
}

}  // namespace
}  // namespace reprise::contract
