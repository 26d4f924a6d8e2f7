// SPDX-License-Identifier: Apache-2.0
// What is left when a run or a recording fails midway: the next one must be right.
#include <functional>
#include <stdexcept>

#include <reprise/memory_adaptors.h>

#include "contracts/pool_fixture.h"
#include "memory/device_resource.h"

namespace reprise::contract {
namespace {

class PoolFaults : public PoolTest {
 protected:
  GraphPool pool_of(Step s, std::vector<int> sizes, int max_rows) {
    GraphPool pool(device_, std::move(s), options(std::move(sizes), max_rows));
    pool.bind("weights", weight_rows(max_rows));
    return pool;
  }
  std::vector<float> floats_at(const Buffer& buffer, Stream& stream) {
    std::vector<float> values(buffer.bytes() / sizeof(float));
    buffer.to_host(stream, std::as_writable_bytes(std::span(values)));
    return values;
  }
  /// The affine step with state, which throws or does whatever `fault` does once it has enqueued.
  Step faulty(std::function<void(StepContext&)> fault) {
    Step s = step({.state = true});
    s.run = [this, fault = std::move(fault)](StepContext& context) {
      run_step(context, true);
      fault(context);
    };
    return s;
  }
};

TEST_F(PoolFaults, ARunInsideARecordingIsRefusedAndChangesNothing) {
  GraphPool pool = pool_of(step(), {1, 2, 4}, 4);
  pool.record();
  const Slot slot = pool.slot("x");
  const std::vector<float> x = batch(4, 1);
  pool.run(main_, 4, std::vector<Input>{{slot, rows_of(x)}});
  const OutputView before = pool.output("out");
  const std::vector<float> other = batch(3, 70);
  const std::vector<Input> inputs{{slot, rows_of(other)}};
  Buffer y = floats(1);
  for (Stream* const recorded : {&main_, &side_}) {
    const std::string text = fault_of(CaptureFault::refused, [&] {
      capture(*recorded, [&] {
        add(*recorded, y, 1);
        pool.run(main_, 3, inputs);
      });
    });
    expect_parts(text, {"a run", "affine", "main", "after the recorded function"});
  }
  std::vector<float> values(x.size());
  pool.read(before, std::span(values));  // no run has overwritten it
  EXPECT_EQ(values, expected(x));
  pool.run(4, {});  // x still has its four rows
  EXPECT_EQ(read_out(pool), expected(x));
}

TEST_F(PoolFaults, AStreamOfAnotherDeviceIsRefused) {
  const auto other = kit_->open();
  Stream foreign = other->create_stream("foreign");
  GraphPool pool = pool_of(step(), {4}, 4);
  const std::vector<float> x = batch(4, 1);
  const std::vector<Input> inputs{{pool.slot("x"), rows_of(x)}};
  expect_parts(usage_error_of([&] { pool.run(foreign, 4, inputs); }),
               {"affine", "foreign", "different device"});
  pool.run(4, inputs);
  EXPECT_EQ(read_out(pool), expected(x));
}

TEST_F(PoolFaults, AStepThatThrowsLeavesNoOutputToRead) {
  bool fails = false;
  Step s = step();
  s.run = [&](StepContext& context) {
    run_step(context, false);
    if (fails) throw std::runtime_error("mine");
  };
  GraphPool pool = pool_of(s, {4}, 8);
  const std::vector<float> x = batch(4, 1);
  pool.run(4, {{"x", rows_of(x)}});
  const OutputView earlier = pool.output("out");
  fails = true;
  EXPECT_THROW(pool.run(2, {{"x", rows_of(batch(2, 9))}}), std::runtime_error);
  expect_parts(usage_error_of([&] { pool.output("out"); }), {"'out'", "failed"});
  std::vector<float> values(x.size());
  expect_parts(usage_error_of([&] { pool.read(earlier, std::span(values)); }), {"overwritten"});
  EXPECT_EQ(pool.counters().eager_steps, 1u);
  fails = false;
  pool.run(4, {{"x", rows_of(x)}});
  EXPECT_EQ(read_out(pool), expected(x));
}

TEST_F(PoolFaults, ACaptureLeavesNoOutputToRead) {
  GraphRunner runner(device_, step(), {.rows = 4});
  runner.capture({{"x", rows_of(batch(4, 1))}, {"weights", weight_rows(4)}});
  expect_parts(usage_error_of([&] { runner.output("out"); }), {"'out'", "not run"});
}

TEST_F(PoolFaults, AFailedRecordingLeavesStateAndBindings) {
  const std::vector<float> before = batch(8, 50);
  for (const StepPhase phase : {StepPhase::warm_up, StepPhase::recording, StepPhase::eager}) {
    bool fails = true;
    Buffer total = device_floats(before, "total");
    GraphPool pool = pool_of(faulty([&](StepContext& context) {
                               if (fails && context.phase() == phase)
                                 throw std::runtime_error("mine");
                             }),
                             {1, 8}, 8);
    pool.bind("total", rows_of(total, 8));
    EXPECT_THROW(pool.record(), std::runtime_error);
    EXPECT_EQ(floats_at(total, pool.stream()), before);
    for (const BucketReport& bucket : pool.buckets()) {
      EXPECT_EQ(bucket.state, RunState::cold);
      EXPECT_EQ(bucket.reason, "");
    }
    fails = false;
    pool.record();
    EXPECT_EQ(pool.run(8, {{"x", rows_of(batch(8, 1))}}).path, RunPath::replay);
    EXPECT_EQ(floats_at(total, pool.stream()), batch(8, 51));
  }
}

TEST_F(PoolFaults, AFailedCaptureLeavesState) {
  const std::vector<float> before = batch(4, 50);
  for (const StepPhase phase : {StepPhase::warm_up, StepPhase::recording, StepPhase::eager}) {
    Buffer total = device_floats(before, "total");
    GraphRunner runner(device_, faulty([&](StepContext& context) {
                         if (context.phase() == phase) throw std::runtime_error("mine");
                       }),
                       {.rows = 4, .warm_ups = 2});
    const std::vector<float> x = batch(4, 1);
    EXPECT_THROW(
        runner.capture(
            {{"x", rows_of(x)}, {"weights", weight_rows(4)}, {"total", rows_of(total, 4)}}),
        std::runtime_error);
    EXPECT_EQ(runner.state(), RunState::cold);
    EXPECT_EQ(floats_at(total, runner.stream()), before);
  }
}

TEST_F(PoolFaults, EveryWarmUpSeesTheStateAsItWas) {
  std::vector<float> seen;
  Buffer total = device_floats(batch(4, 50), "total");
  GraphPool pool = pool_of(faulty([&](StepContext& context) {
                             if (context.phase() == StepPhase::warm_up)
                               seen.push_back(floats_at(total, context.stream()).front());
                           }),
                           {1, 2, 4}, 4);
  pool.bind("total", rows_of(total, 4));
  pool.record();
  EXPECT_EQ(seen, (std::vector<float>{51, 51, 51}));
}

TEST_F(PoolFaults, AnExceptionOfTheProgressCallbackLeavesNothingRecorded) {
  GraphPoolOptions watched = options({1, 2}, 2);
  watched.on_progress = [](const PoolProgress& progress) {
    if (progress.phase == PoolPhase::record && progress.done == 2) {
      throw std::runtime_error("enough");
    }
  };
  GraphPool pool(device_, step(), watched);
  pool.bind("weights", weight_rows(2));
  EXPECT_THROW(pool.record(), std::runtime_error);
  EXPECT_EQ(pool.run(2, {{"x", rows_of(batch(2, 1))}}).reason, FallbackReason::not_recorded);
  EXPECT_EQ(read_out(pool), expected(batch(2, 1)));
}

TEST_F(PoolFaults, ProgressCountsFailedSizesToo) {
  std::vector<std::size_t> done_so_far;
  GraphPoolOptions watched = options({1, 2, 4}, 4);
  watched.on_progress = [&](const PoolProgress& progress) {
    if (progress.phase == PoolPhase::record) done_so_far.push_back(progress.done);
  };
  Step s = step();
  s.run = [&](StepContext& context) {
    run_step(context, false);
    if (context.rows() == 2 && context.phase() == StepPhase::recording)
      throw std::runtime_error("mine");
  };
  GraphPool pool(device_, s, watched);
  pool.bind("weights", weight_rows(4));
  EXPECT_EQ(pool.record().disabled, (std::vector<int>{2}));
  EXPECT_EQ(done_so_far, (std::vector<std::size_t>{1, 2, 3}));
  expect_parts(pool.buckets()[1].reason, {"mine"});
}

TEST_F(PoolFaults, AMovedBufferBeforeRecordingIsAnErrorThatPasses) {
  GraphPool pool = pool_of(step(), {4}, 4);
  Buffer moved = device_floats(batch(4, 1), "moved");
  const std::vector<float> x = batch(4, 1);
  expect_parts(usage_error_of([&] {
                 pool.run(4, {{"x", rows_of(x)}, {"weights", rows_of(moved, 4)}});
               }),
               {"'weights'", "moved"});
  pool.run(4, {{"x", rows_of(x)}});
  EXPECT_EQ(read_out(pool), expected(x));
}

// Every allocation of scratch memory fails once, wherever it comes: in a warm-up, in an eager run.
TEST_F(PoolFaults, AfterAnyFailedAllocationTheNextAttemptIsRight) {
  std::uint64_t failures = 1;
  int caught = 0;
  for (std::uint64_t nth = 1; failures != 0; ++nth) {
    const auto failing = std::make_shared<FailingResource>(
        std::make_shared<DeviceResource>(device_, "upstream"), FailingResource::Plan::nth, nth);
    GraphPoolOptions swept = options({1, 2, 4}, 20);
    swept.memory = MemoryPool::create(device_, {.name = "swept", .segment_bytes = 512}, failing);
    Buffer total = device_floats(std::vector<float>(20 * kWidth, 0), "total");
    Step s = step({.state = true});
    s.run = [this](StepContext& context) {
      context.scratch(static_cast<std::size_t>(context.rows()) * 700, "more");
      run_step(context, true);
    };
    GraphPool pool = GraphPool(device_, s, swept);
    pool.bind("weights", weight_rows(20));
    pool.bind("total", rows_of(total, 20));
    bool recorded = false;
    std::vector<float> totals(20 * kWidth, 0);  // as they should be
    const auto work = [&] {
      if (!recorded) pool.record();
      recorded = true;
      for (const int rows : {3, 17, 1, 20}) {
        const std::vector<float> x = batch(rows, totals[0]);
        const int computed = pool.run(rows, {{"x", rows_of(x)}}).bucket;
        for (int i = 0; i < computed * kWidth; ++i) totals[static_cast<std::size_t>(i)] += 1;
        std::vector<float> want = expected(x);
        for (std::size_t i = 0; i < want.size(); ++i) want[i] += totals[i];
        ASSERT_EQ(read_out(pool), want) << "allocation " << nth << ", rows " << rows;
      }
    };
    try {
      work();
    } catch (const OutOfMemory&) {
      ++caught;
      EXPECT_EQ(floats_at(total, pool.stream()), totals);
      work();
    }
    failures = failing->failures();
    if (failures != 0) continue;
    EXPECT_GT(nth, 2u);  // the sweep met something
  }
  EXPECT_GT(caught, 0);
}

}  // namespace
}  // namespace reprise::contract
