// SPDX-License-Identifier: Apache-2.0
// Loops and branches in the steps of runner and pool, nested ones, and exceptions at every point of
// them.
#include <array>
#include <stdexcept>
#include <thread>

#include <reprise/control_flow.h>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

/// An i32 in device memory, as the condition of a loop or branch.
TensorView condition(void* data) { return {.data = data, .dtype = DType::i32, .shape = Shape{1}}; }

class ControlFlowSteps : public PoolTest {
 protected:
  /// out = x + times × (1, and 10 more in the first round): a loop over `times`, with a branch.
  Step looping() {
    Step step;
    step.name = "looping";
    step.bindings = {
        {.name = "x", .kind = BindingKind::copied, .row = Shape{kWidth}},
        {.name = "times", .kind = BindingKind::copied, .dtype = DType::i32, .per_row = false},
        {.name = "out", .kind = BindingKind::output, .row = Shape{kWidth}},
    };
    step.run = [this](StepContext& context) { run_looping(context); };
    return step;
  }

  void run_looping(StepContext& context) {
    Stream& stream = context.stream();
    const auto n = static_cast<std::size_t>(context.rows() * kWidth);
    auto* const left = static_cast<std::int32_t*>(context.scratch(sizeof(std::int32_t), "left"));
    auto* const first = static_cast<std::int32_t*>(context.scratch(sizeof(std::int32_t), "first"));
    const TensorView times = context.tensor("times");
    stream.copy({.data = left, .bytes = sizeof *left, .space = MemorySpace::device},
                {.data = times.data, .bytes = times.bytes(), .space = times.space});
    stream.fill({.data = first, .bytes = sizeof *first, .space = MemorySpace::device}, 0);
    kit_->add_integer(stream, first, 1);
    auto* const out = context.tensor("out").as<float>();
    kit_->copy_scaled(stream, out, context.tensor("x").as<float>(), n, 1);
    while_loop(stream, condition(left), [&] {
      if_else(stream, condition(first), [&] {
        kit_->add(stream, out, n, 10);
        kit_->add_integer(stream, first, -1);
      });
      kit_->add(stream, out, n, 1);
      kit_->add_integer(stream, left, -1);
    });
  }

  std::vector<float> looped(int rows, std::int32_t times) {
    std::vector<float> values = batch(rows, 1);
    for (float& value : values) {
      if (times > 0) value += 10;
      for (std::int32_t i = 0; i < times; ++i) value += 1;
    }
    return values;
  }
  static TensorView times_of(const std::int32_t& times) {
    TensorView view = host_tensor(std::span<const std::int32_t>(&times, 1));
    view.shape = Shape{};
    return view;
  }

  Buffer scalar(std::int32_t value) {
    Buffer buffer = device_->allocate(sizeof value, "condition");
    buffer.from_host(main_, std::as_bytes(std::span(&value, 1)));
    return buffer;
  }
  static std::int32_t* integer(const Buffer& buffer) {
    return static_cast<std::int32_t*>(buffer.data());
  }
};

TEST_F(ControlFlowSteps, ARunnerReplaysItsLoopAsItRunsEagerly) {
  GraphRunner runner(device_, looping(), {.rows = 4});
  const std::vector<float> x = batch(4, 1);
  std::int32_t times = 3;
  runner.capture({{"x", rows_of(x)}, {"times", times_of(times)}});
  ASSERT_EQ(runner.state(), RunState::recorded) << runner.reason();
  for (const std::int32_t next : {3, 0, 1, 100, 2}) {
    times = next;
    runner.replay({{"times", times_of(times)}});
    EXPECT_EQ(read_out(runner), looped(4, times)) << times;
    runner.run_eager({{"x", rows_of(x)}, {"times", times_of(times)}});
    EXPECT_EQ(read_out(runner), looped(4, times)) << times << ", eagerly";
  }
  runner.reset();  // the loop's only executable goes, so that the next one may come
  runner.capture({{"x", rows_of(x)}, {"times", times_of(times)}});
  runner.replay();
  EXPECT_EQ(read_out(runner), looped(4, times));
}

TEST_F(ControlFlowSteps, EveryBucketOfAPoolReplaysItsLoopAsItRunsEagerly) {
  GraphPool pool(device_, looping(), options({1, 2, 4}, 6));
  GraphPoolOptions faked = options({1, 2, 4}, 6);
  faked.record_mode = RecordMode::fake;
  GraphPool twin(device_, looping(), faked);
  pool.record();
  twin.record();
  for (const std::int32_t times : {2, 0, 7}) {
    for (const int rows : {1, 3, 4, 2, 6}) {
      const std::vector<float> x = batch(rows, 1);
      const RunResult result = pool.run(rows, {{"x", rows_of(x)}, {"times", times_of(times)}});
      EXPECT_EQ(result.path, rows > 4 ? RunPath::eager : RunPath::replay) << rows;
      const std::vector<float> out = read_out(pool);
      EXPECT_EQ(out, looped(rows, times)) << rows << " rows, " << times << " times";
      twin.run(rows, {{"x", rows_of(x)}, {"times", times_of(times)}});
      EXPECT_EQ(read_out(twin), out) << rows << " rows, " << times << " times";
    }
  }
  for (const BucketReport& bucket : pool.buckets()) {
    EXPECT_EQ(bucket.state, RunState::recorded) << bucket.rows << ": " << bucket.reason;
  }
}

TEST_F(ControlFlowSteps, ScratchMemoryIsTakenBeforeTheLoop) {
  Step step = looping();
  step.run = [this](StepContext& context) {
    Stream& stream = context.stream();
    void* const left = context.scratch(sizeof(std::int32_t), "left");
    stream.fill({.data = left, .bytes = sizeof(std::int32_t), .space = MemorySpace::device}, 0);
    while_loop(stream, condition(left), [&] {
      void* const more = context.scratch(std::size_t{64} << 20, "more");
      stream.fill({.data = more, .bytes = 4, .space = MemorySpace::device}, 0);
    });
  };
  GraphRunner runner(device_, step, {.rows = 1});
  const std::vector<float> x = batch(1, 1);
  const std::int32_t times = 0;
  const std::string text = fault_of(CaptureFault::refused, [&] {
    runner.capture({{"x", rows_of(x)}, {"times", times_of(times)}});
  });
  expect_parts(text, {"must grow by", "inside recording", "reserve("});
  expect_usable(runner.stream());
}

TEST_F(ControlFlowSteps, AWhileInAnIfInAWhile) {
  Buffer outer = scalar(0);
  Buffer flag = scalar(0);
  Buffer inner = scalar(0);
  Buffer x = floats(0);
  Buffer y = floats(0, "y");
  const Graph graph = capture(main_, [&] {
    while_loop(main_, condition(outer.data()), [&] {
      if_else(
          main_, condition(flag.data()),
          [&] {
            kit_->add_integer(main_, integer(inner), 3);
            while_loop(main_, condition(inner.data()), [&] {
              add(main_, x, 1);
              kit_->add_integer(main_, integer(inner), -1);
            });
            kit_->add_integer(main_, integer(flag), -1);
          },
          [&] { add(main_, y, 1); });
      kit_->add_integer(main_, integer(outer), -1);
    });
  });
  GraphExec exec = graph.instantiate();
  for (int replay = 1; replay <= 2; ++replay) {
    const std::array<std::int32_t, 2> values{5, 2};  // 5 rounds, 2 of them with the inner loop
    outer.from_host(main_, std::as_bytes(std::span(values).first(1)));
    flag.from_host(main_, std::as_bytes(std::span(values).last(1)));
    exec.launch(main_);
    EXPECT_EQ(value_of(x), static_cast<float>(6 * replay));
    EXPECT_EQ(value_of(y), static_cast<float>(3 * replay));
  }
}

TEST_F(ControlFlowSteps, ALoopRunsTensOfThousandsOfTimes) {
  constexpr std::int32_t kTimes = 30'000;
  Buffer left = scalar(kTimes);
  Buffer sum = scalar(0);
  while_loop(main_, condition(left.data()), [&] {
    kit_->add_integer(main_, integer(sum), 1);
    kit_->add_integer(main_, integer(left), -1);
  });
  std::int32_t value = 0;
  sum.to_host(main_, std::as_writable_bytes(std::span(&value, 1)));
  EXPECT_EQ(value, kTimes);
}

TEST_F(ControlFlowSteps, AnExceptionAtAnyPointLeavesTheStreamUsable) {
  Buffer left = scalar(1);
  Buffer x = floats(0);
  const auto work = [&](int at) {
    int point = 0;
    const auto pass = [&] {
      if (point++ == at) throw std::runtime_error("stop here");
    };
    const auto add_and_pass = [&] {
      pass();
      add(main_, x, 1);
      pass();
    };
    add_and_pass();
    while_loop(main_, condition(left.data()), [&] {
      add_and_pass();
      if_else(
          main_, condition(left.data()),
          [&] {
            add_and_pass();
            while_loop(main_, condition(left.data()), add_and_pass);
            pass();
          },
          add_and_pass);
      pass();
    });
    add_and_pass();
    return point;
  };
  int points = 0;
  (void)capture(main_, [&] { points = work(-1); });
  ASSERT_EQ(points, 14);
  for (int at = 0; at < points; ++at) {
    EXPECT_THROW(capture(main_, [&] { work(at); }), std::runtime_error) << at;
    expect_usable(main_);
  }
  EXPECT_EQ(value_of(x), 0) << "a recording ran";
}

TEST_F(ControlFlowSteps, AnUpdateCountsAsAnExecutableOfItsGraph) {
  Buffer left = scalar(0);
  Buffer x = floats(0);
  const auto loop = [&] {
    return capture(main_, [&] {
      while_loop(main_, condition(left.data()), [&] {
        add(main_, x, 1);
        kit_->add_integer(main_, integer(left), -1);
      });
    });
  };
  const Graph graph = loop();
  GraphExec exec = loop().instantiate();
  {
    GraphExec own = graph.instantiate();
    expect_parts(usage_error_of([&] { exec.update(graph); }),
                 {"GraphExec::update", "executable of its own", "record it again"});
    EXPECT_EQ(own.update(graph), UpdateResult::updated) << "with its own graph";
  }
  const UpdateResult result = exec.update(graph);
  if (result == UpdateResult::updated) {
    expect_parts(usage_error_of([&] { graph.instantiate(); }), {"one at a time"});
  }
  const std::int32_t times = 4;
  left.from_host(main_, std::as_bytes(std::span(&times, 1)));
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 4);
}

TEST_F(ControlFlowSteps, AnotherThreadMayWaitForTheDeviceAfterABodyForked) {
  Buffer left = scalar(2);
  Buffer x = floats(0);
  Event fork = device_->create_event();
  Event join = device_->create_event();
  GraphExec exec = capture(main_, [&] {
                     while_loop(main_, condition(left.data()), [&] {
                       main_.record(fork);
                       side_.wait(fork);
                       add(side_, x, 1);
                       side_.record(join);
                       main_.wait(join);
                       kit_->add_integer(main_, integer(left), -1);
                     });
                     // `main` still records: the wait must not touch it.
                     std::thread([&] { EXPECT_NO_THROW(device_->synchronize()); }).join();
                     add(main_, x, 10);
                   }).instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 12);
}

TEST_F(ControlFlowSteps, AConditionThatIsRefusedLeavesTheRecordingAsItWas) {
  Buffer left = scalar(0);
  Buffer x = floats(0);
  GraphExec exec = capture(main_, [&] {
                     add(main_, x, 1);
                     EXPECT_THROW(while_loop(main_, left.tensor(DType::f32, Shape{1}),
                                             [&] { add(main_, x, 10); }),
                                  UsageError);
                     add(main_, x, 100);
                   }).instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 101);
}

}  // namespace
}  // namespace reprise::contract
