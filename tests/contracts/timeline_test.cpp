// SPDX-License-Identifier: Apache-2.0
// Timers, timelines and debug replays: that they measure what ran, wait for it, and leave the rest
// alone.
#include <algorithm>

#include <reprise/debug_replay.h>
#include <reprise/timeline.h>
#include <reprise/timer.h>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

class Timers : public RecordingTest {};

TEST_F(Timers, DeviceTimesCallOnceMoreThanTheyCountAndWait) {
  Buffer x = floats(0);
  const TimeSamples times =
      device_times(main_, [&] { add(main_, x, 1); }, {.repeats = 5, .warm_ups = 3});
  EXPECT_TRUE(main_.query());
  EXPECT_EQ(value_of(x), 9);
  ASSERT_EQ(times.microseconds.size(), 5u);
  for (const double time : times.microseconds) EXPECT_GE(time, 0);
  EXPECT_LE(times.least(), times.median());
  EXPECT_LE(times.median(), times.p99());
}

TEST_F(Timers, DeviceTimesDoNotWaitInBetween) {
  Gate gate(*kit_, *device_, side_);
  Event held = device_->create_event();
  side_.record(held);
  int calls = 0;
  const auto work = [&] {
    if (++calls == 1) main_.wait(held);  // nothing can be reached until the last call has been made
    if (calls == 4) {
      EXPECT_FALSE(main_.query());
      gate.open();
    }
  };
  EXPECT_EQ(device_times(main_, work, {.repeats = 3, .warm_ups = 0}).microseconds.size(), 3u);
  EXPECT_EQ(calls, 4);
}

TEST_F(Timers, WallTimesBeginOnAnIdleStreamAndEndWithTheWork) {
  Buffer x = floats(0);
  int busy = 0;
  const auto work = [&] {
    if (!main_.query()) ++busy;
    add(main_, x, 1);
  };
  const TimeSamples times = wall_times(main_, work, {.repeats = 5, .warm_ups = 0});
  EXPECT_TRUE(main_.query());
  EXPECT_EQ(busy, 0);
  EXPECT_EQ(value_of(x), 5);
  ASSERT_EQ(times.microseconds.size(), 5u);
  EXPECT_GT(times.least(), 0);
}

TEST_F(Timers, RefuseARecordingAndNoRepeats) {
  Buffer x = floats(0);
  const auto work = [&] { add(main_, x, 1); };
  for (const auto& timer : {device_times, wall_times}) {
    expect_parts(fault_of(CaptureFault::refused,
                          [&] {
                            capture(main_, [&] {
                              work();
                              timer(main_, work, {});
                            });
                          }),
                 {"_times", "stream 'main'"});
    expect_parts(usage_error_of([&] { timer(main_, work, {.repeats = 0}); }), {"at least 1"});
  }
  EXPECT_EQ(value_of(x), 0);
}

class Timelines : public RecordingTest {
 protected:
  /// x += 1 on main, y += 1 and += 2 on side beside it, then x += y on main.
  Graph forked() {
    return capture(main_, [&] {
      Event fork = device_->create_event();
      Event join = device_->create_event();
      add(main_, x_, 0, "first");
      main_.record(fork);
      side_.wait(fork);
      add(main_, x_, 1, "long");
      add(side_, y_, 1, "one");
      add(side_, y_, 2, "two");
      side_.record(join);
      main_.wait(join);
      kit_->axpy(main_, data(x_), data(y_), kCount, 1);
    });
  }
  Buffer x_ = floats(0);
  Buffer y_ = floats(0);
};

TEST_F(Timelines, MeasureEveryNodeOfEveryReplay) {
  const Graph graph = forked();
  const Timeline timeline = measure_timeline(graph, main_, {.replays = 7, .warm_ups = 2});
  const std::vector<GraphNode> nodes = graph.nodes();
  ASSERT_EQ(nodes.size(), 5u);
  ASSERT_EQ(timeline.nodes.size(), nodes.size());
  EXPECT_EQ(timeline.stamped.microseconds.size(), 7u);
  EXPECT_EQ(timeline.served.microseconds.size(), 7u);
  EXPECT_EQ(timeline.lanes, 2u);
  EXPECT_GT(timeline.shown_us, 0);
  EXPECT_GE(timeline.floor_us, 0);
  double intervals = 0;
  double last = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeTime& time = timeline.nodes[i];
    EXPECT_LE(time.start_us, time.end_us) << i;
    EXPECT_LE(time.median_us, time.p99_us) << i;
    for (const std::uint32_t earlier : nodes[i].dependencies) {
      EXPECT_GE(time.start_us, timeline.nodes[earlier].end_us) << i;
    }
    intervals += time.interval_us;
    last = std::max(last, time.end_us);
  }
  EXPECT_NEAR(intervals, timeline.shown_us, 1e-6);
  EXPECT_EQ(last, timeline.shown_us);
  EXPECT_EQ(timeline.critical_path.front(), 0u);
  EXPECT_EQ(timeline.critical_path.back(), 4u);
}

TEST_F(Timelines, DoTheWorkOfTheirReplaysAndLeaveTheGraphAsItWas) {
  const Graph graph = forked();
  GraphExec exec = graph.instantiate();
  measure_timeline(graph, main_, {.replays = 3, .warm_ups = 1});
  // 3 + 1 with stamps, 3 + 1 and one ahead without; y += 3 and x += 1 + y by each.
  EXPECT_EQ(value_of(y_), 27);
  EXPECT_EQ(value_of(x_), 9 + 3 * 45);
  EXPECT_EQ(graph.node_count(), 5u);
  exec.launch(main_);
  EXPECT_EQ(value_of(y_), 30);
  EXPECT_EQ(value_of(x_), 10 + 3 * 55);
}

TEST_F(Timelines, RefuseARecordingAndNoReplays) {
  const Graph graph = forked();
  expect_parts(fault_of(CaptureFault::refused,
                        [&] {
                          capture(side_, [&] {
                            add(side_, x_, 1);
                            measure_timeline(graph, main_);
                          });
                        }),
               {"measure_timeline", "stream 'main'"});
  expect_parts(usage_error_of([&] { measure_timeline(graph, main_, {.replays = 0}); }),
               {"at least 1 replay"});
  const auto other = kit_->open();
  Stream foreign = other->create_stream("foreign");
  expect_parts(usage_error_of([&] { measure_timeline(graph, foreign); }),
               {"foreign", "another device object"});
  EXPECT_EQ(value_of(y_), 0);
}

class DebugReplay : public PoolTest {};

TEST_F(DebugReplay, IsOneReplay) {
  Buffer x = floats(1);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    add(main_, x, 2);
  });
  debug_replay(graph, main_);
  EXPECT_TRUE(main_.query());
  EXPECT_EQ(value_of(x), 4);
  expect_parts(fault_of(CaptureFault::refused,
                        [&] {
                          capture(main_, [&] {
                            add(main_, x, 1);
                            debug_replay(graph, main_);
                          });
                        }),
               {"debug_replay", "stream 'main'"});
}

TEST_F(DebugReplay, NamesTheNodeThatFailed) {
  if (!kit_->can_lose_device()) GTEST_SKIP() << "tests/device/cuda/lost_test.cu does it there";
  Buffer x = floats(1);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    const LabelScope layer(main_, "layer 3");
    kit_->lose_device(main_, "first cause");
    add(main_, x, 1);
  });
  const auto error = thrown_by<DeviceError>([&] { debug_replay(graph, main_); });
  ASSERT_TRUE(error);
  expect_parts(error->what(), {"first cause", "the replay failed in node 1 (kernel 'layer 3 / "});
}

TEST_F(DebugReplay, IsAModeOfRunnerAndPool) {
  GraphRunner runner(device_, step(), {.rows = 4, .record_mode = RecordMode::debug});
  runner.capture({{"x", rows_of(batch(4, 1))}, {"weights", weight_rows(4)}});
  EXPECT_EQ(runner.graph().node_count(), 4u);
  runner.replay({{"x", rows_of(batch(4, 7))}});
  EXPECT_TRUE(runner.stream().query());
  EXPECT_EQ(read_out(runner), expected(batch(4, 7)));

  GraphPoolOptions debugged = options({2, 4}, 4);
  debugged.record_mode = RecordMode::debug;
  GraphPool pool(device_, step(), std::move(debugged));
  pool.bind("weights", weight_rows(4));
  EXPECT_EQ(static_cast<int>(pool.record().mode), static_cast<int>(RecordMode::debug));
  const std::vector<float> x = batch(3, 5);
  EXPECT_EQ(static_cast<int>(pool.run(3, {{"x", rows_of(x)}}).path),
            static_cast<int>(RunPath::replay));
  EXPECT_TRUE(pool.stream().query());
  EXPECT_EQ(read_out(pool), expected(x));
}

}  // namespace
}  // namespace reprise::contract
