// SPDX-License-Identifier: Apache-2.0
// One run of a pool: inputs and their rules, fallback and counters, the lane, outputs.
#include <atomic>
#include <thread>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

class PoolRun : public PoolTest {
 protected:
  void SetUp() override {
    pool_.bind("weights", weight_rows(kMaxRows));
    pool_.record();
  }
  RunResult run(int rows, float seed) {
    return pool_.run(rows, {{"x", rows_of(batch(rows, seed))}});
  }
  void expect_works() {
    EXPECT_EQ(run(4, 2).path, RunPath::replay);
    EXPECT_EQ(read_out(pool_), expected(batch(4, 2)));
  }

  GraphPool pool_{device_, step(), options({1, 2, 4, 8, 16, 32}, kMaxRows)};
};

TEST_F(PoolRun, AboveTheLadderRunsEagerlyAndIsReportedOnce) {
  for (int i = 0; i < 3; ++i) {
    const RunResult result = run(33, static_cast<float>(i));
    EXPECT_EQ(result.path, RunPath::eager);
    EXPECT_EQ(result.reason, FallbackReason::above_ladder);
    EXPECT_EQ(result.bucket, 33);
    EXPECT_EQ(read_out(pool_), expected(batch(33, static_cast<float>(i))));
  }
  const PoolCounters counters = pool_.counters();
  EXPECT_EQ(counters.fallbacks[static_cast<std::size_t>(FallbackReason::above_ladder)], 3u);
  EXPECT_EQ(counters.all_fallbacks(), 3u);
  EXPECT_EQ(counters.eager_steps, 3u);
  ASSERT_EQ(notes_.size(), 1u);
  expect_parts(notes_[0], {"33 rows", "affine", "32", "above_ladder"});
}

TEST_F(PoolRun, RefusesBatchesThatFitNothing) {
  expect_parts(usage_error_of([&] { run(0, 0); }), {"0 rows", "1 to 40"});
  expect_parts(usage_error_of([&] { run(41, 0); }), {"41 rows", "1 to 40"});
  expect_works();
}

TEST_F(PoolRun, WithoutPaddingOtherSizesRunEagerly) {
  GraphPoolOptions unpadded = options({2, 4}, 4);
  unpadded.allow_padding = false;
  GraphPool pool(device_, step(), unpadded);
  pool.bind("weights", weight_rows(4));
  pool.record();
  EXPECT_EQ(pool.run(4, {{"x", rows_of(batch(4, 1))}}).path, RunPath::replay);
  const RunResult result = pool.run(3, {{"x", rows_of(batch(3, 1))}});
  EXPECT_EQ(result.path, RunPath::eager);
  EXPECT_EQ(result.reason, FallbackReason::padding_refused);
  EXPECT_EQ(result.bucket, 3);
  EXPECT_EQ(read_out(pool), expected(batch(3, 1)));
}

TEST_F(PoolRun, UnrecordedPoolRunsEagerlyAndCounts) {
  GraphPool pool(device_, step(), options({4}, 4));
  pool.bind("weights", weight_rows(4));
  const RunResult result = pool.run(3, {{"x", rows_of(batch(3, 1))}});
  EXPECT_EQ(result.reason, FallbackReason::not_recorded);
  EXPECT_EQ(read_out(pool), expected(batch(3, 1)));
  EXPECT_EQ(notes_.size(), 1u);
}

TEST_F(PoolRun, WrongInputsAreNamedAndChangeNothing) {
  run(4, 1);
  const std::vector<float> x = batch(4, 9);
  const auto with = [&](TensorView view) { return [this, view] { pool_.run(4, {{"x", view}}); }; };
  TensorView wrong_shape = rows_of(batch(3, 9));
  expect_parts(usage_error_of(with(wrong_shape)), {"'x'", "[4, 8]", "[3, 8]"});
  TensorView wrong_type = rows_of(x);
  wrong_type.dtype = DType::i32;
  expect_parts(usage_error_of(with(wrong_type)), {"'x'", "f32", "i32"});
  TensorView strided = rows_of(x);
  strided.strides = Shape{1, 4};
  expect_parts(usage_error_of(with(strided)), {"'x'", "strided", "contiguous"});
  TensorView nothing = rows_of(x);
  nothing.data = nullptr;
  expect_parts(usage_error_of(with(nothing)), {"'x'", "no memory"});
  expect_parts(usage_error_of([&] {
                 pool_.run(4, {{"y", rows_of(x)}});
               }),
               {"'y'", "x, weights, out"});
  expect_parts(usage_error_of([&] { pool_.run(4, {{"out", rows_of(x)}}); }), {"'out'", "output"});
  expect_parts(usage_error_of([&] {
                 pool_.run(4, {{"x", rows_of(x)}, {"x", rows_of(x)}});
               }),
               {"'x'", "twice"});
  expect_parts(usage_error_of([&] { pool_.run(3, {}); }), {"'x'", "4 rows", "3"});
  pool_.run(4, {});
  EXPECT_EQ(read_out(pool_), expected(batch(4, 1)));  // none of the refused values was taken
}

TEST_F(PoolRun, AnInputNeverGivenIsAnError) {
  expect_parts(usage_error_of([&] { pool_.run(4, {}); }), {"'x'", "never given"});
  expect_works();
}

TEST_F(PoolRun, ADeviceInputIsCopiedFromAnyAddress) {
  for (int i = 0; i < 3; ++i) {
    Buffer x = device_floats(batch(5, static_cast<float>(i)), "x elsewhere");
    pool_.run(5, {{"x", rows_of(x, 5)}});
    EXPECT_EQ(read_out(pool_), expected(batch(5, static_cast<float>(i))));
  }
  expect_works();
}

TEST_F(PoolRun, AMovedBoundBufferMakesThePoolStale) {
  run(4, 1);
  Buffer moved = device_floats(weight_values_, "moved");
  const auto with_moved = [&] {
    pool_.run(4, {{"x", rows_of(batch(4, 1))}, {"weights", rows_of(moved, kMaxRows)}});
  };
  expect_parts(usage_error_of(with_moved), {"'weights'", "moved", "generation"});
  EXPECT_EQ(pool_.buckets()[0].state, RunState::stale);
  expect_parts(usage_error_of([&] { run(4, 1); }), {"stale", "weights"});
  pool_.reset();
  pool_.bind("weights", rows_of(moved, kMaxRows));
  pool_.record();
  expect_works();
}

TEST_F(PoolRun, TheSameAddressWithAnotherGenerationHasMoved) {
  run(4, 1);
  TensorView again = weight_rows(kMaxRows);
  again.generation += 1;
  const auto with_again = [&] { pool_.run(4, {{"x", rows_of(batch(4, 1))}, {"weights", again}}); };
  expect_parts(usage_error_of(with_again), {"'weights'", "moved"});
}

TEST_F(PoolRun, RecordingTwiceAndBindingTwiceNeedAReset) {
  expect_parts(usage_error_of([&] { pool_.record(); }), {"recorded already", "reset()"});
  expect_parts(usage_error_of([&] { pool_.bind("weights", weight_rows(kMaxRows)); }),
               {"'weights'", "reset()"});
  expect_works();
}

TEST_F(PoolRun, AnOverwrittenOutputIsAnError) {
  run(4, 1);
  const OutputView first = pool_.output("out");
  run(8, 2);
  std::vector<float> values(4 * kWidth);
  expect_parts(usage_error_of([&] { pool_.read(first, std::span(values)); }),
               {"'out'", "overwritten"});
  std::vector<float> small(3);
  expect_parts(usage_error_of([&] { pool_.read(pool_.output("out"), std::span(small)); }),
               {"'out'", "12"});
  expect_works();
}

TEST_F(PoolRun, RunsOnAlternatingStreamsAreOrdered) {
  for (int i = 0; i < 50; ++i) {
    const int rows = 1 + i % 8;
    const std::vector<float> x = batch(rows, static_cast<float>(i));
    const std::vector<Input> inputs{{pool_.slot("x"), rows_of(x)}};
    pool_.run(i % 2 == 0 ? main_ : side_, rows, inputs);
    EXPECT_EQ(read_out(pool_), expected(x));
  }
}

TEST_F(PoolRun, TheHostMayRunAheadOfTheDevice) {
  // More runs than there are pinned slabs, each with other values, before the first has begun.
  Gate gate(*kit_, *device_, pool_.stream());
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  for (int i = 0; i < 20; ++i) run(4, static_cast<float>(i));
  opener.join();
  EXPECT_EQ(read_out(pool_), expected(batch(4, 19)));
}

TEST_F(PoolRun, ASecondThreadInsideIsRefused) {
  std::atomic<bool> inside{false};
  std::atomic<bool> go_on{false};
  Step slow = step();
  slow.run = [&](StepContext& context) {
    run_step(context, false);
    inside = true;
    while (!go_on) std::this_thread::yield();
  };
  GraphPool pool(device_, slow, options({4}, 4));
  pool.bind("weights", weight_rows(4));
  std::thread first([&] { pool.run(4, {{"x", rows_of(batch(4, 1))}}); });
  while (!inside) std::this_thread::yield();
  const auto second = [&] { pool.run(4, {{"x", rows_of(batch(4, 2))}}); };
  expect_parts(usage_error_of(second), {"GraphPool::run", "affine", "one lane"});
  go_on = true;
  first.join();
  EXPECT_EQ(read_out(pool), expected(batch(4, 1)));
}

TEST_F(PoolRun, AStepThatCannotBeRecordedGivesItsOwnError) {
  Step bad = step();
  bad.run = [&](StepContext& context) {
    run_step(context, false);
    context.stream().synchronize();
  };
  GraphPool pool(device_, bad, options({2, 4}, 4));
  pool.bind("weights", weight_rows(4));
  const std::string text = fault_of(CaptureFault::refused, [&] { pool.record(); });
  expect_parts(text, {"Stream::synchronize", "affine"});
  expect_usable(pool.stream());
}

TEST_F(PoolRun, OneFailingSizeLeavesTheOthers) {
  Step bad = step();
  bad.run = [&](StepContext& context) {
    run_step(context, false);
    if (context.rows() == 4) context.stream().synchronize();
  };
  GraphPool pool(device_, bad, options({2, 4}, 4));
  pool.bind("weights", weight_rows(4));
  const RecordReport report = pool.record();
  EXPECT_EQ(report.recorded, (std::vector<int>{2}));
  EXPECT_EQ(report.disabled, (std::vector<int>{4}));
  EXPECT_EQ(pool.run(2, {{"x", rows_of(batch(2, 1))}}).path, RunPath::replay);
  EXPECT_EQ(pool.run(4, {{"x", rows_of(batch(4, 1))}}).reason, FallbackReason::bucket_disabled);
  EXPECT_EQ(read_out(pool), expected(batch(4, 1)));
}

}  // namespace
}  // namespace reprise::contract
