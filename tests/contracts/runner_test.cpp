// SPDX-License-Identifier: Apache-2.0
// GraphRunner: capture, replay, reset, and what each mistake gives.
#include <stdexcept>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

class Runner : public PoolTest {
 protected:
  static constexpr int kRows = 4;

  GraphRunner runner(Step s) { return GraphRunner(device_, std::move(s), {.rows = kRows}); }
  GraphRunner runner() { return runner(step()); }
  void capture_with(GraphRunner& r, float seed) {
    r.capture({{"x", rows_of(batch(kRows, seed))}, {"weights", weight_rows(kRows)}});
  }
};

TEST_F(Runner, ReplaysWithNewInputs) {
  GraphRunner r = runner();
  EXPECT_EQ(r.state(), RunState::cold);
  capture_with(r, 1);
  EXPECT_EQ(r.state(), RunState::recorded);
  EXPECT_EQ(r.graph().node_count(), 4u);
  const int calls = step_calls_;
  for (int i = 0; i < 10; ++i) {
    r.replay({{"x", rows_of(batch(kRows, static_cast<float>(i)))}});
    EXPECT_EQ(read_out(r), expected(batch(kRows, static_cast<float>(i))));
  }
  r.replay();
  EXPECT_EQ(read_out(r), expected(batch(kRows, 9)));
  EXPECT_EQ(step_calls_, calls);  // replays don't call the step
  r.run_eager({{"x", rows_of(batch(kRows, 3))}});
  EXPECT_EQ(read_out(r), expected(batch(kRows, 3)));
}

TEST_F(Runner, ASecondCaptureNeedsAReset) {
  GraphRunner r = runner();
  capture_with(r, 1);
  expect_parts(usage_error_of([&] { capture_with(r, 2); }), {"affine", "recorded", "reset()"});
  r.replay({{"x", rows_of(batch(kRows, 5))}});
  EXPECT_EQ(read_out(r), expected(batch(kRows, 5)));
  r.reset();
  EXPECT_EQ(r.state(), RunState::cold);
  expect_parts(usage_error_of([&] { r.replay(); }), {"cold", "capture()"});
  capture_with(r, 2);
  r.replay();
  EXPECT_EQ(read_out(r), expected(batch(kRows, 2)));
}

TEST_F(Runner, MissingInputsAreNamed) {
  GraphRunner r = runner();
  expect_parts(usage_error_of([&] {
                 r.capture({{"x", rows_of(batch(kRows, 1))}});
               }),
               {"'weights'"});
  expect_parts(usage_error_of([&] { r.capture({{"weights", weight_rows(kRows)}}); }), {"'x'"});
  EXPECT_EQ(r.state(), RunState::cold);
  capture_with(r, 1);
  expect_usable(r.stream());
}

TEST_F(Runner, AMovedBoundBufferMakesItStale) {
  GraphRunner r = runner();
  capture_with(r, 1);
  Buffer moved = device_floats(batch(kRows, 1), "moved");
  expect_parts(usage_error_of([&] {
                 r.replay({{"weights", rows_of(moved, kRows)}});
               }),
               {"'weights'", "moved"});
  EXPECT_EQ(r.state(), RunState::stale);
  expect_parts(r.reason(), {"weights"});
  expect_parts(usage_error_of([&] { r.replay(); }), {"stale", "reset()"});
  expect_usable(r.stream());
}

TEST_F(Runner, AStateIsAsBeforeAndThenAdvances) {
  Buffer total = device_floats(batch(kRows, 50), "total");
  GraphRunner r = runner(step({.state = true}));
  r.capture({{"x", rows_of(batch(kRows, 1))},
             {"weights", weight_rows(kRows)},
             {"total", rows_of(total, kRows)}});
  std::vector<float> now(kRows * kWidth);
  total.to_host(r.stream(), std::as_writable_bytes(std::span(now)));
  EXPECT_EQ(now, batch(kRows, 50));
  r.replay();
  r.replay();
  total.to_host(r.stream(), std::as_writable_bytes(std::span(now)));
  EXPECT_EQ(now, batch(kRows, 52));
}

TEST_F(Runner, AnInputTheStepOverwritesIsRestoredAndStays) {
  Step feedback;
  feedback.name = "feedback";
  feedback.bindings = {
      {.name = "token", .kind = BindingKind::copied, .row = Shape{kWidth}, .written_by_step = true},
      {.name = "out", .kind = BindingKind::output, .row = Shape{kWidth}},
  };
  feedback.run = [&](StepContext& context) {
    const auto n = static_cast<std::size_t>(kRows * kWidth);
    kit_->add(context.stream(), context.tensor("token").as<float>(), n, 1);
    kit_->copy_scaled(context.stream(), context.tensor("out").as<float>(),
                      context.tensor("token").as<float>(), n, 1);
  };
  GraphRunner r = runner(feedback);
  r.capture({{"token", rows_of(batch(kRows, 10))}});
  r.replay();
  EXPECT_EQ(read_out(r), batch(kRows, 11));
  r.replay();  // not given: it goes on from what the device left
  EXPECT_EQ(read_out(r), batch(kRows, 12));
  r.replay({{"token", rows_of(batch(kRows, 10))}});  // given: travels although the host's is equal
  EXPECT_EQ(read_out(r), batch(kRows, 11));
}

TEST_F(Runner, ItsRowCountLiesOnTheDevice) {
  Step counting = step();
  std::int32_t* address = nullptr;
  counting.run = [&](StepContext& context) {
    address = context.tensor("row_count").as<std::int32_t>();
    run_step(context, false);
  };
  GraphRunner r = runner(counting);
  capture_with(r, 1);
  std::int32_t rows = 0;
  r.stream().copy(pageable(std::span(&rows, 1)), {address, sizeof rows, MemorySpace::device});
  EXPECT_EQ(rows, kRows);
}

TEST_F(Runner, AnExceptionAtEveryPositionLeavesItCold) {
  for (int position = 0; position <= 3; ++position) {
    Step throwing = step();
    throwing.run = [&, position](StepContext& context) {
      const TensorView out_view = context.tensor("out");
      auto* const out = out_view.as<float>();
      const MemoryView bytes{out, out_view.bytes(), MemorySpace::device};
      if (context.phase() != StepPhase::recording) context.stream().fill(bytes, 0);
      for (int i = 0; i < 3; ++i) {
        if (i == position && context.phase() == StepPhase::recording)
          throw std::runtime_error("mine");
        kit_->add(context.stream(), out, kWidth, 1);
      }
      if (position == 3 && context.phase() == StepPhase::recording)
        throw std::runtime_error("mine");
    };
    GraphRunner r = runner(throwing);
    EXPECT_THROW(capture_with(r, 1), std::runtime_error);
    EXPECT_EQ(r.state(), RunState::cold);
    expect_usable(r.stream());
  }
}

TEST_F(Runner, WarmsUpAsOftenAsAsked) {
  std::vector<StepPhase> phases;
  Step watched = step();
  watched.run = [&](StepContext& context) {
    phases.push_back(context.phase());
    run_step(context, false);
  };
  for (const int warm_ups : {1, 3}) {
    phases.clear();
    GraphRunner r(device_, watched, {.rows = kRows, .warm_ups = warm_ups, .self_test = false});
    capture_with(r, 1);
    std::vector<StepPhase> wanted(static_cast<std::size_t>(warm_ups), StepPhase::warm_up);
    wanted.push_back(StepPhase::recording);
    EXPECT_EQ(phases, wanted);
  }
  expect_parts(
      usage_error_of([&] { GraphRunner(device_, step(), {.rows = kRows, .warm_ups = 0}); }),
      {"warm-up"});
}

TEST_F(Runner, AnEmptyStepIsAnError) {
  Step empty = step();
  empty.run = [](StepContext&) {};
  GraphRunner r = runner(empty);
  fault_of(CaptureFault::empty, [&] { capture_with(r, 1); });
  EXPECT_EQ(r.state(), RunState::cold);
  expect_usable(r.stream());
}

TEST_F(Runner, ContradictingBindingsAreRefused) {
  Step twice = step();
  twice.bindings.push_back(twice.bindings[0]);
  expect_parts(usage_error_of([&] { runner(twice); }), {"'x'", "two"});
  Step pad = step();
  pad.bindings[1].pad = 3;
  expect_parts(usage_error_of([&] { runner(pad); }), {"'weights'", "pad"});
  Step idle = step();
  idle.run = nullptr;
  expect_parts(usage_error_of([&] { runner(idle); }), {"affine", "no function"});
  expect_parts(usage_error_of([&] { GraphRunner(device_, step(), RunnerOptions{.rows = 0}); }),
               {"1 row"});
}

TEST(RunStates, HaveATableOfTransitions) {
  EXPECT_TRUE(can_transition(RunState::cold, RunState::warm));
  EXPECT_FALSE(can_transition(RunState::cold, RunState::recorded));
  EXPECT_TRUE(can_transition(RunState::recorded, RunState::stale));
  EXPECT_FALSE(can_transition(RunState::stale, RunState::recorded));
  for (int state = 0; state < 7; ++state) {
    EXPECT_TRUE(can_transition(static_cast<RunState>(state), RunState::lost));
    EXPECT_FALSE(can_transition(RunState::lost, static_cast<RunState>(state)));
  }
  EXPECT_EQ(answer_in(RunState::recorded), ReplayAnswer::replays);
  EXPECT_EQ(answer_in(RunState::stale), ReplayAnswer::refuses);
  EXPECT_EQ(answer_in(RunState::disabled), ReplayAnswer::runs_eagerly);
}

}  // namespace
}  // namespace reprise::contract
