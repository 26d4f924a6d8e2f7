// SPDX-License-Identifier: Apache-2.0
// A recording that something outside the library ended is made once more by those who own the step
// function, and by nobody else (DESIGN §4.5).
#include <functional>
#include <stdexcept>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

class Retry : public PoolTest {
 protected:
  /// The affine step with state. While it records `rows` rows, and has enqueued half of its work,
  /// it calls `disturb` with the number of such recordings so far, itself included.
  Step disturbed(int rows, std::function<void(StepContext&, int)> disturb) {
    Step s = step({.state = true});
    s.run = [this, rows, disturb = std::move(disturb)](StepContext& context) {
      const bool here = context.phase() == StepPhase::recording && context.rows() == rows;
      if (here) {
        kit_->add(context.stream(), context.tensor("out").as<float>(), 1, 1, "first half");
        disturb(context, ++recordings_);
      }
      run_step(context, true);
    };
    return s;
  }
  static void lose(StepContext&, int) {
    throw CaptureError(CaptureFault::invalidated, "lost to a test");
  }
  static void lose_first(StepContext& context, int nth) {
    if (nth == 1) lose(context, nth);
  }

  GraphPool pool_of(Step s) {
    GraphPool pool(device_, std::move(s), options({1, 2, 4}, 4));
    pool.bind("weights", weight_rows(4));
    pool.bind("total", rows_of(total_, 4));
    return pool;
  }
  GraphRunner runner_of(Step s) {
    return GraphRunner(device_, std::move(s), {.rows = 2, .on_note = [this](std::string_view line) {
                                                 notes_.emplace_back(line);
                                               }});
  }
  void capture_in(GraphRunner& runner) {
    runner.capture(
        {{"x", rows_of(batch(2, 1))}, {"weights", weight_rows(2)}, {"total", rows_of(total_, 2)}});
  }
  std::vector<float> totals() {
    std::vector<float> values(total_.bytes() / sizeof(float));
    total_.to_host(main_, std::as_writable_bytes(std::span(values)));
    return values;
  }
  /// out of the first run after recording: the state is 1 then.
  std::vector<float> first_out(const std::vector<float>& x) const {
    std::vector<float> out = expected(x);
    for (float& value : out) value += 1;
    return out;
  }

  const std::vector<float> zeros_ = std::vector<float>(4 * kWidth, 0);
  Buffer total_ = device_floats(zeros_, "total");
  int recordings_ = 0;
};

TEST_F(Retry, OfAPoolIsCountedNotedAndRight) {
  GraphPool pool = pool_of(disturbed(2, lose_first));
  const RecordReport report = pool.record();
  EXPECT_EQ(report.retried, 1u);
  EXPECT_EQ(report.recorded, (std::vector<int>{4, 2, 1}));
  EXPECT_TRUE(report.disabled.empty());
  EXPECT_EQ(recordings_, 2);
  ASSERT_EQ(notes_.size(), 1u);
  expect_parts(notes_[0], {"2 rows of 'affine'", "once more", "lost to a test"});
  EXPECT_EQ(totals(), zeros_);
  const std::vector<float> x = batch(2, 1);
  EXPECT_EQ(pool.run(2, {{"x", rows_of(x)}}).path, RunPath::replay);
  EXPECT_EQ(read_out(pool), first_out(x));
}

TEST_F(Retry, OfAPoolIsMadeOnlyOnce) {
  GraphPool pool = pool_of(disturbed(2, lose));
  const RecordReport report = pool.record();
  EXPECT_EQ(report.retried, 1u);
  EXPECT_EQ(report.disabled, (std::vector<int>{2}));
  EXPECT_EQ(recordings_, 2);
  expect_parts(pool.buckets()[1].reason, {"lost to a test"});
  ASSERT_EQ(notes_.size(), 2u);
  expect_parts(notes_[1], {"size 2 of 'affine' is disabled"});
  EXPECT_EQ(pool.run(2, {{"x", rows_of(batch(2, 1))}}).reason, FallbackReason::bucket_disabled);
}

TEST_F(Retry, OfARunnerIsCountedNotedAndRight) {
  GraphRunner runner = runner_of(disturbed(2, lose_first));
  EXPECT_EQ(runner.retried(), 0u);
  capture_in(runner);
  EXPECT_EQ(runner.retried(), 1u);
  EXPECT_EQ(recordings_, 2);
  ASSERT_EQ(notes_.size(), 1u);
  expect_parts(notes_[0], {"2 rows of 'affine'", "once more", "lost to a test"});
  EXPECT_EQ(totals(), zeros_);
  const std::vector<float> x = batch(2, 1);
  runner.replay({{"x", rows_of(x)}});
  EXPECT_EQ(read_out(runner), first_out(x));
}

TEST_F(Retry, OfARunnerIsMadeOnlyOnce) {
  GraphRunner runner = runner_of(disturbed(2, [](StepContext& context, int nth) {
    if (nth <= 2) lose(context, nth);
  }));
  expect_parts(fault_of(CaptureFault::invalidated, [&] { capture_in(runner); }),
               {"lost to a test"});
  EXPECT_EQ(runner.retried(), 1u);
  EXPECT_EQ(recordings_, 2);
  EXPECT_EQ(runner.state(), RunState::cold);
  EXPECT_EQ(totals(), zeros_);
  capture_in(runner);
  EXPECT_EQ(runner.state(), RunState::recorded);
}

TEST_F(Retry, IsNotMadeForOtherFaults) {
  for (const std::function<void(StepContext&, int)>&disturb :
       {std::function<void(StepContext&, int)>(
            [](StepContext&, int) { throw std::runtime_error("mine"); }),
        std::function<void(StepContext&, int)>(
            [](StepContext&context, int) { context.stream().synchronize(); }),
        std::function<void(StepContext&, int)>([this](StepContext&context, int) {
          // A stream of the recording that goes before its end: the step's own doing.
          Event fork = device_->create_event();
          context.stream().record(fork);
          Stream passing = device_->create_stream("passing");
          passing.wait(fork);
        })}) {
    recordings_ = 0;
    notes_.clear();
    GraphRunner runner = runner_of(disturbed(2, disturb));
    EXPECT_ANY_THROW(capture_in(runner));
    EXPECT_EQ(runner.retried(), 0u);
    EXPECT_EQ(recordings_, 1);
    EXPECT_TRUE(notes_.empty());
  }
}

TEST_F(Retry, IsNotMadeByCapture) {
  int calls = 0;
  fault_of(CaptureFault::invalidated, [&] {
    capture(main_, [&] {
      ++calls;
      throw CaptureError(CaptureFault::invalidated, "lost to a test");
    });
  });
  EXPECT_EQ(calls, 1);
  expect_usable(main_);
}

TEST_F(Retry, AfterSomethingOutsideEndedTheRecording) {
  if (!kit_->can_invalidate_recording()) {
    GTEST_SKIP() << "nothing outside the library can end a recording on this device";
  }
  GraphPool pool = pool_of(disturbed(4, [this](StepContext& context, int nth) {
    if (nth == 1) kit_->invalidate_recording(context.stream());
  }));
  const RecordReport report = pool.record();
  EXPECT_EQ(report.retried, 1u);
  EXPECT_TRUE(report.disabled.empty());
  EXPECT_EQ(recordings_, 2);
  ASSERT_EQ(notes_.size(), 1u);
  expect_parts(notes_[0], {"4 rows of 'affine'", "outside this library"});
  const std::vector<float> x = batch(4, 1);
  EXPECT_EQ(pool.run(4, {{"x", rows_of(x)}}).path, RunPath::replay);
  EXPECT_EQ(read_out(pool), first_out(x));
}

}  // namespace
}  // namespace reprise::contract
