// SPDX-License-Identifier: Apache-2.0
// Self-tests that wait until serving has begun, what a test leaves behind, and progress (DESIGN
// §5).
#include <stdexcept>

#include <reprise/memory_adaptors.h>

#include "contracts/pool_fixture.h"
#include "memory/device_resource.h"

namespace reprise::contract {
namespace {

class PoolSelfTest : public PoolTest {
 protected:
  static constexpr int kRows = 8;

  GraphPoolOptions postponed() {
    GraphPoolOptions result = options({2, 4, kRows}, kRows);
    result.postpone_self_test = true;
    return result;
  }
  /// The affine step with state, followed by on_step_.
  GraphPool pool_of(GraphPoolOptions pool_options) {
    Step s = step({.state = true});
    s.run = [this](StepContext& context) {
      run_step(context, true);
      if (on_step_) on_step_(context);
    };
    GraphPool pool(device_, s, std::move(pool_options));
    pool.bind("weights", weight_rows(kRows));
    pool.bind("total", rows_of(total_, kRows));
    return pool;
  }
  std::vector<float> total(Stream& stream) {
    std::vector<float> values(kRows * kWidth);
    total_.to_host(stream, std::as_writable_bytes(std::span(values)));
    return values;
  }
  static SelfTest test_of(const GraphPool& pool, int rows) {
    for (const BucketReport& bucket : pool.buckets()) {
      if (bucket.rows == rows) return bucket.self_test;
    }
    return SelfTest::none;
  }

  Buffer total_ = device_floats(batch(kRows, 50), "total");
  std::function<void(StepContext&)> on_step_;
};

TEST_F(PoolSelfTest, PostponedTestsRunBetweenRunsLargestFirst) {
  GraphPool pool = pool_of(postponed());
  EXPECT_EQ(pool.readiness().recorded, false);
  EXPECT_EQ(pool.record().recorded, (std::vector<int>{8, 4, 2}));
  EXPECT_EQ(pool.readiness().pending, 3u);
  const std::vector<float> x = batch(4, 1);
  std::vector<float> totals = batch(kRows, 50);
  pool.run(4, {{"x", rows_of(x)}});
  for (const int rows : {8, 4, 2}) {
    EXPECT_EQ(test_of(pool, rows), SelfTest::pending);
    const auto result = pool.self_test_next();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->rows, rows);
    EXPECT_TRUE(result->passed) << result->reason;
    EXPECT_EQ(result->pending, pool.readiness().pending);
    EXPECT_EQ(test_of(pool, rows), SelfTest::passed);
    expect_parts(usage_error_of([&] { pool.output("out"); }), {"'out'"});
    EXPECT_EQ(pool.run(4, {}).path, RunPath::replay);  // x kept its value
    const std::vector<float> out = read_out(pool);
    for (std::size_t i = 0; i < 4 * kWidth; ++i) {
      totals[i] += rows == 8 ? 2 : 1;  // two runs so far, and no trace of a test
      ASSERT_EQ(out[i], expected(x)[i] + totals[i]);
    }
  }
  EXPECT_EQ(total(pool.stream()), totals);
  EXPECT_FALSE(pool.self_test_next().has_value());
  EXPECT_TRUE(pool.readiness().complete());
  EXPECT_EQ(pool.readiness().graphs, 3u);
  EXPECT_EQ(pool.counters().self_tests, 3u);
  EXPECT_EQ(pool.counters().self_test_failures, 0u);
}

TEST_F(PoolSelfTest, ASizeThatDiffersIsServedUntilItsTest) {
  on_step_ = [this](StepContext& context) {
    if (context.rows() != 4 || context.phase() != StepPhase::recording) return;
    kit_->add(context.stream(), context.tensor("out").as<float>(), 4 * kWidth, 1);
  };
  GraphPool pool = pool_of(postponed());
  EXPECT_TRUE(pool.record().disabled.empty());
  const std::vector<float> x = batch(3, 1);
  EXPECT_EQ(pool.run(3, {{"x", rows_of(x)}}).path, RunPath::replay);
  EXPECT_TRUE(pool.self_test_next()->passed);
  const auto result = pool.self_test_next();
  EXPECT_FALSE(result->passed);
  expect_parts(result->reason, {"replay differs from eager", "'out'"});
  EXPECT_EQ(test_of(pool, 4), SelfTest::failed);
  EXPECT_EQ(pool.run(3, {}).reason, FallbackReason::bucket_disabled);
  EXPECT_TRUE(pool.self_test_next()->passed);
  const PoolReadiness readiness = pool.readiness();
  EXPECT_EQ(readiness.graphs, 2u);
  EXPECT_FALSE(readiness.complete());
  ASSERT_EQ(readiness.disabled.size(), 1u);
  EXPECT_EQ(readiness.disabled[0].rows, 4);
  EXPECT_EQ(pool.counters().self_test_failures, 1u);
  ASSERT_EQ(notes_.size(), 2u);
  expect_parts(notes_[0], {"size 4", "disabled", "differs"});
  on_step_ = nullptr;
  EXPECT_EQ(pool.record_variant(4, "").recorded, (std::vector<int>{4}));
  EXPECT_EQ(pool.readiness().pending, 1u);  // it waits for its test again
}

TEST_F(PoolSelfTest, ATestThatThrowsDisablesItsSizeOnly) {
  bool fails = true;
  int failing_rows = 0;
  on_step_ = [&](StepContext& context) {
    if (fails && context.rows() == failing_rows && context.phase() == StepPhase::eager) {
      throw OutOfMemory("planned");
    }
  };
  for (const auto& [later, rows] :
       std::vector<std::pair<bool, int>>{{false, 8}, {false, 2}, {true, 8}}) {
    failing_rows = rows;
    total_ = device_floats(batch(kRows, 50), "total");
    GraphPoolOptions with = postponed();
    with.postpone_self_test = later;
    GraphPool pool = pool_of(with);
    fails = true;
    pool.record();
    if (later) {
      const auto result = pool.self_test_next();
      EXPECT_FALSE(result->passed);
      expect_parts(result->reason, {"planned"});
    }
    fails = false;
    EXPECT_EQ(total(pool.stream()), batch(kRows, 50));
    EXPECT_EQ(pool.readiness().disabled.size(), 1u);
    EXPECT_EQ(pool.run(rows, {{"x", rows_of(batch(rows, 1))}}).reason,
              FallbackReason::bucket_disabled);
    EXPECT_EQ(pool.run(4, {{"x", rows_of(batch(4, 1))}}).path, RunPath::replay);
  }
}

TEST_F(PoolSelfTest, AStepWithUndeclaredStateHasNothingToTest) {
  Step s = step();
  s.undeclared_state = true;
  GraphPool pool(device_, s, postponed());
  pool.bind("weights", weight_rows(kRows));
  pool.record();
  EXPECT_FALSE(pool.self_test_next().has_value());
  EXPECT_TRUE(pool.readiness().complete());
}

TEST_F(PoolSelfTest, ProgressTellsPhaseSizeAndTime) {
  std::vector<std::string> lines;
  GraphPoolOptions watched = options({2, 4}, 4);
  watched.variants = {{.name = "plain"}, {.name = "rare", .when = RecordWhen::on_request}};
  watched.on_progress = [&](const PoolProgress& progress) {
    EXPECT_GE(progress.seconds, 0);
    lines.push_back(std::string(to_string(progress.phase)) + " " + std::to_string(progress.rows) +
                    " " + std::string(progress.variant) + " " + std::to_string(progress.done) +
                    "/" + std::to_string(progress.of));
  };
  GraphPool pool(device_, step(), watched);
  pool.bind("weights", weight_rows(4));
  pool.record();
  EXPECT_EQ(lines, (std::vector<std::string>{"warm-up 4 plain 1/2", "warm-up 2 plain 2/2",
                                             "record 4 plain 1/2", "record 2 plain 2/2",
                                             "self-test 4 plain 1/2", "self-test 2 plain 2/2"}));
}

// The device has no memory while one size is recorded (as though for its executable), or the memory
// pool cannot grow for it: the others stay.
TEST_F(PoolSelfTest, OutOfMemoryForOneSizeLeavesTheOthers) {
  on_step_ = [](StepContext& context) {
    if (context.rows() == 4 && context.phase() == StepPhase::recording) {
      throw OutOfMemory("planned");
    }
  };
  GraphPool pool = pool_of(options({2, 4, kRows}, kRows));
  EXPECT_EQ(pool.record().recorded, (std::vector<int>{8, 2}));
  EXPECT_EQ(total(pool.stream()), batch(kRows, 50));
  EXPECT_EQ(pool.run(4, {{"x", rows_of(batch(4, 1))}}).reason, FallbackReason::bucket_disabled);
  EXPECT_EQ(pool.run(8, {{"x", rows_of(batch(8, 1))}}).path, RunPath::replay);
}

TEST_F(PoolSelfTest, APoolThatCannotGrowInAFakeRecordingLosesThatSizeOnly) {
  std::uint64_t failed = 0;
  for (std::uint64_t nth = 1;; ++nth) {
    const auto failing = std::make_shared<FailingResource>(
        std::make_shared<DeviceResource>(device_, "upstream"), FailingResource::Plan::nth, nth);
    total_ = device_floats(batch(kRows, 50), "total");
    GraphPoolOptions swept = options({2, 4, kRows}, kRows);
    swept.record_mode = RecordMode::fake;
    swept.memory = MemoryPool::create(device_, {.name = "swept"}, failing);
    on_step_ = [](StepContext& context) {  // a recording that wants more than its warm-up had
      if (context.phase() != StepPhase::warm_up) context.scratch(std::size_t{3} << 20, "more");
    };
    GraphPool pool = pool_of(swept);
    try {
      pool.record();
    } catch (const OutOfMemory&) {
      continue;  // in a warm-up, which is everybody's
    }
    if (failing->failures() == 0) break;
    ++failed;
    ASSERT_EQ(pool.readiness().disabled.size(), 1u) << nth;
    expect_parts(pool.readiness().disabled[0].reason, {"swept"});
    EXPECT_EQ(pool.readiness().graphs, 2u);
    EXPECT_EQ(total(pool.stream()), batch(kRows, 50));
  }
  EXPECT_GT(failed, 0u);
}

}  // namespace
}  // namespace reprise::contract
