// SPDX-License-Identifier: Apache-2.0
// Fake recording (DESIGN §5): the path of a replay, calling the step where a graph would be
// launched.
#include <limits>
#include <stdexcept>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

class FakeRecording : public PoolTest {
 protected:
  GraphPoolOptions fake(std::vector<int> sizes, int max_rows) {
    GraphPoolOptions result = options(std::move(sizes), max_rows);
    result.record_mode = RecordMode::fake;
    return result;
  }
  GraphPool recorded(Step s, GraphPoolOptions with) {
    const int rows = with.max_rows;
    GraphPool pool(device_, std::move(s), std::move(with));
    pool.bind("weights", weight_rows(rows));
    report_ = pool.record();
    return pool;
  }
  std::vector<float> out_of(GraphPool& pool, const std::vector<float>& x,
                            RunMode mode = RunMode::automatic) {
    const int rows = static_cast<int>(x.size()) / static_cast<int>(kWidth);
    result_ = pool.run(rows, {{"x", rows_of(x)}}, mode);
    return read_out(pool);
  }
  std::vector<float> floats_at(const Buffer& buffer, Stream& stream) {
    std::vector<float> values(buffer.bytes() / sizeof(float));
    buffer.to_host(stream, std::as_writable_bytes(std::span(values)));
    return values;
  }

  RecordReport report_;
  RunResult result_;
};

TEST_F(FakeRecording, EqualsReplayAndEagerOverTheLadder) {
  const std::vector<int> sizes{1, 2, 4, 8, 16, 32};
  GraphPool real = recorded(step(), options(sizes, 32));
  GraphPool pool = recorded(step(), fake(sizes, 32));
  EXPECT_EQ(report_.mode, RecordMode::fake);
  EXPECT_EQ(report_.recorded, (std::vector<int>{32, 16, 8, 4, 2, 1}));
  EXPECT_TRUE(report_.disabled.empty());
  EXPECT_EQ(report_.executable_bytes, 0u);
  for (int rows = 1; rows <= 32; ++rows) {
    const std::vector<float> x = batch(rows, static_cast<float>(rows));
    const std::vector<float> replayed = out_of(real, x);
    const int bucket = result_.bucket;
    const int calls = step_calls_;
    EXPECT_EQ(out_of(pool, x), replayed) << rows;
    EXPECT_EQ(step_calls_, calls + 1);
    EXPECT_EQ(result_.path, RunPath::fake);
    EXPECT_EQ(result_.reason, FallbackReason::none);
    EXPECT_EQ(result_.bucket, bucket);
    EXPECT_EQ(out_of(pool, x, RunMode::eager), replayed) << rows;
    EXPECT_EQ(result_.path, RunPath::eager);
  }
}

TEST_F(FakeRecording, NeverCountsAsAReplay) {
  GraphPool pool = recorded(step(), fake({4, 8}, 8));
  for (int i = 0; i < 3; ++i) out_of(pool, batch(3, 1));
  const PoolCounters counters = pool.counters();
  EXPECT_EQ(counters.replays, 0u);
  EXPECT_EQ(counters.fake_replays, 3u);
  EXPECT_EQ(counters.eager_steps, 0u);
  EXPECT_EQ(counters.padded_rows, 3u);
  EXPECT_EQ(counters.all_fallbacks(), 0u);
  const BucketReport bucket = pool.buckets().front();
  EXPECT_EQ(bucket.state, RunState::recorded);
  EXPECT_EQ(bucket.nodes, 0u);
  EXPECT_EQ(bucket.replays, 0u);
  EXPECT_EQ(bucket.fake_replays, 3u);
  EXPECT_EQ(bucket.padded_rows, 3u);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(FakeRecording, PaddingLeavesNoTrace) {
  const std::vector<float> x = batch(5, 7);
  for (const float poison : {0.0F, std::numeric_limits<float>::infinity(), -1e30F}) {
    GraphPool pool = recorded(step({.pad = poison}), fake({8}, 8));
    EXPECT_EQ(out_of(pool, x), expected(x)) << poison;
    EXPECT_EQ(result_.bucket, 8);
    EXPECT_EQ(pool.counters().padded_rows, 3u);
  }
}

TEST_F(FakeRecording, ABatchAboveTheLadderFallsBackAsWithGraphs) {
  GraphPool pool = recorded(step(), fake({2, 4}, 8));
  EXPECT_EQ(out_of(pool, batch(7, 1)), expected(batch(7, 1)));
  EXPECT_EQ(result_.path, RunPath::eager);
  EXPECT_EQ(result_.reason, FallbackReason::above_ladder);
  EXPECT_EQ(pool.counters().all_fallbacks(), 1u);
  EXPECT_EQ(pool.counters().fake_replays, 0u);
  EXPECT_EQ(notes_.size(), 1u);
  expect_parts(usage_error_of([&] { out_of(pool, batch(9, 1)); }), {"9 rows", "1 to 8"});
  GraphPoolOptions unpadded = fake({2, 4}, 4);
  unpadded.allow_padding = false;
  GraphPool exact = recorded(step(), unpadded);
  EXPECT_EQ(out_of(exact, batch(3, 1)), expected(batch(3, 1)));
  EXPECT_EQ(result_.reason, FallbackReason::padding_refused);
}

TEST_F(FakeRecording, AMovedBoundBufferMakesThePoolStale) {
  GraphPool pool = recorded(step(), fake({4}, 4));
  out_of(pool, batch(4, 1));
  Buffer moved = device_floats(batch(4, 1), "moved");
  const int calls = step_calls_;
  expect_parts(usage_error_of([&] {
                 pool.run(4, {{"x", rows_of(batch(4, 1))}, {"weights", rows_of(moved, 4)}});
               }),
               {"'weights'", "moved"});
  EXPECT_EQ(pool.buckets()[0].state, RunState::stale);
  expect_parts(usage_error_of([&] { out_of(pool, batch(4, 1)); }), {"stale", "weights"});
  EXPECT_EQ(step_calls_, calls);
}

TEST_F(FakeRecording, AStepThatThrowsLeavesNoOutputAndNoCount) {
  bool fails = false;
  Step s = step();
  s.run = [&](StepContext& context) {
    run_step(context, false);
    if (fails) throw std::runtime_error("mine");
  };
  GraphPool pool = recorded(s, fake({4}, 4));
  out_of(pool, batch(4, 1));
  fails = true;
  EXPECT_THROW(out_of(pool, batch(2, 9)), std::runtime_error);
  expect_parts(usage_error_of([&] { pool.output("out"); }), {"'out'", "failed"});
  EXPECT_EQ(pool.counters().fake_replays, 1u);
  fails = false;
  EXPECT_EQ(out_of(pool, batch(4, 3)), expected(batch(4, 3)));
}

TEST_F(FakeRecording, AStepThatThrowsWhileRecordingDisablesItsSize) {
  Buffer total = device_floats(batch(4, 50), "total");
  Step s = step({.state = true});
  s.run = [&](StepContext& context) {
    run_step(context, true);
    if (context.rows() == 2 && context.phase() == StepPhase::recording)
      throw std::runtime_error("mine");
  };
  GraphPoolOptions untested = fake({2, 4}, 4);
  untested.self_test = false;
  GraphPool pool(device_, s, untested);
  pool.bind("weights", weight_rows(4));
  pool.bind("total", rows_of(total, 4));
  report_ = pool.record();
  EXPECT_EQ(report_.recorded, (std::vector<int>{4}));
  EXPECT_EQ(report_.disabled, (std::vector<int>{2}));
  EXPECT_EQ(floats_at(total, pool.stream()),
            batch(4, 50));  // what it did before it threw is undone
  out_of(pool, batch(2, 1));
  EXPECT_EQ(result_.reason, FallbackReason::bucket_disabled);
}

TEST_F(FakeRecording, HasNoGraph) {
  GraphPool pool = recorded(step(), fake({4}, 4));
  expect_parts(usage_error_of([&] { (void)pool.graph(4); }),
               {"graph(4)", "affine", "RecordMode::fake", "RecordMode::graphs"});
  GraphRunner runner(device_, step(), {.rows = 4, .record_mode = RecordMode::fake});
  runner.capture({{"x", rows_of(batch(4, 1))}, {"weights", weight_rows(4)}});
  expect_parts(usage_error_of([&] { (void)runner.graph(); }), {"affine", "RecordMode::fake"});
}

TEST_F(FakeRecording, StateIsAsBeforeAndThenAdvances) {
  for (const bool tested : {true, false}) {
    Buffer total = device_floats(batch(8, 50), "total");
    GraphPoolOptions with = fake({1, 4, 8}, 8);
    with.self_test = tested;
    GraphPool pool(device_, step({.state = true}), with);
    pool.bind("weights", weight_rows(8));
    pool.bind("total", rows_of(total, 8));
    pool.record();
    EXPECT_EQ(floats_at(total, pool.stream()), batch(8, 50));
    pool.run(8, {{"x", rows_of(batch(8, 1))}});
    EXPECT_EQ(floats_at(total, pool.stream()), batch(8, 51));
  }
}

TEST_F(FakeRecording, TheSelfTestComparesTheStepWithItself) {
  Step forgetful = step();
  forgetful.run = [&](StepContext& context) {
    const auto n = static_cast<std::size_t>(context.rows() * kWidth);
    auto* const scratch = static_cast<float*>(context.scratch(n * sizeof(float), "unwritten"));
    kit_->copy_scaled(context.stream(), context.tensor("out").as<float>(), scratch, n, 1);
  };
  GraphPool pool = recorded(forgetful, fake({2}, 2));
  EXPECT_EQ(report_.disabled, (std::vector<int>{2}));
  expect_parts(pool.buckets()[0].reason,
               {"fake replay", "no graph", "differs from eager", "'out'"});
}

TEST_F(FakeRecording, ScratchMemoryStaysWhereTheRecordingHadIt) {
  std::vector<void*> addresses;
  std::size_t bytes = 1024;
  Step s = step();
  s.run = [&](StepContext& context) {
    addresses.push_back(context.scratch(bytes, "watched"));
    run_step(context, false);
  };
  GraphPoolOptions untested = fake({4}, 4);
  untested.self_test = false;
  GraphPool pool = recorded(s, untested);
  void* const at = addresses.back();
  const PoolBlock foreign = pool.memory()->allocate(1024, "foreign");  // takes just that block
  EXPECT_EQ(foreign.data(), at);
  EXPECT_EQ(out_of(pool, batch(4, 1)), expected(batch(4, 1)));
  EXPECT_EQ(addresses.back(), at);
  bytes = 1 << 20;
  try {
    out_of(pool, batch(4, 1));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    expect_parts(error.what(), {"affine", "4 rows", "1048576 bytes", "watched", "1024 bytes"});
  }
}

TEST_F(FakeRecording, TrimmingThePoolLeavesItsScratchMemory) {
  GraphPool pool = recorded(step(), fake({4}, 4));
  EXPECT_EQ(pool.memory()->trim(), 0u);
  EXPECT_EQ(out_of(pool, batch(4, 1)), expected(batch(4, 1)));
}

TEST_F(FakeRecording, RunsOnAnyStreamInOrderAndNotInsideARecording) {
  GraphPool pool = recorded(step(), fake({1, 2, 4, 8}, 8));
  for (int i = 0; i < 20; ++i) {
    const std::vector<float> x = batch(1 + i % 8, static_cast<float>(i));
    const std::vector<Input> inputs{{pool.slot("x"), rows_of(x)}};
    pool.run(i % 2 == 0 ? main_ : side_, 1 + i % 8, inputs);
    EXPECT_EQ(read_out(pool), expected(x));
  }
  const std::vector<float> x = batch(4, 1);
  const std::vector<Input> inputs{{pool.slot("x"), rows_of(x)}};
  const std::string text =
      fault_of(CaptureFault::refused, [&] { capture(main_, [&] { pool.run(main_, 4, inputs); }); });
  expect_parts(text, {"a run", "affine"});
  EXPECT_EQ(out_of(pool, x), expected(x));
}

TEST_F(FakeRecording, TheRunnerTakesTheSamePath) {
  GraphRunner runner(device_, step(), {.rows = 4, .record_mode = RecordMode::fake});
  runner.capture({{"x", rows_of(batch(4, 1))}, {"weights", weight_rows(4)}});
  EXPECT_EQ(runner.state(), RunState::recorded);
  const int calls = step_calls_;
  for (int i = 0; i < 3; ++i) {
    runner.replay({{"x", rows_of(batch(4, static_cast<float>(i)))}});
    EXPECT_EQ(read_out(runner), expected(batch(4, static_cast<float>(i))));
  }
  EXPECT_EQ(step_calls_, calls + 3);
  Buffer moved = device_floats(batch(4, 1), "moved");
  expect_parts(usage_error_of([&] {
                 runner.replay({{"weights", rows_of(moved, 4)}});
               }),
               {"'weights'", "moved"});
  EXPECT_EQ(runner.state(), RunState::stale);
}

}  // namespace
}  // namespace reprise::contract
