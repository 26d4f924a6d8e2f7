// SPDX-License-Identifier: Apache-2.0
// Runners, pools and events destroyed while their work is in flight or while something records
// (DESIGN §4.8), and what several threads may do at once (DESIGN §4.5, §5).
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

class Lifetimes : public PoolTest {
 protected:
  static constexpr int kRows = 4;

  /// Opens a gate a while after open_soon(): who does not wait for it is seen to have gone on.
  class LateOpener {
   public:
    explicit LateOpener(Gate& gate)
        : thread_([this, &gate] {
            while (!wanted_) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            opened_ = true;
            gate.open();
          }) {}
    ~LateOpener() {
      wanted_ = true;
      thread_.join();
    }
    void open_soon() { wanted_ = true; }
    bool opened() const { return opened_; }

   private:
    std::atomic<bool> wanted_{false};
    std::atomic<bool> opened_{false};
    std::thread thread_;
  };

  std::unique_ptr<GraphPool> recorded_pool() {
    GraphPoolOptions with_memory = options({2, 4}, kRows);
    with_memory.memory = MemoryPool::create(device_, {.segment_bytes = std::size_t{16} << 20});
    auto pool = std::make_unique<GraphPool>(device_, step({.state = true}), with_memory);
    pool->bind("weights", weight_rows(kRows));
    pool->bind("total", rows_of(total_, kRows));
    pool->record();
    return pool;
  }
  void run_on(Stream& stream, GraphPool& pool) {
    pool.run(stream, kRows, std::vector<Input>{{pool.slot("x"), rows_of(x_)}});
  }
  /// How often the step has run.
  float runs() { return total_of(main_) - 50; }
  float total_of(Stream& stream) {
    std::vector<float> values(x_.size());
    total_.to_host(stream, std::as_writable_bytes(std::span(values)));
    return values.front();
  }

  std::vector<float> x_ = batch(kRows, 1);
  Buffer total_ = device_floats(batch(kRows, 50), "total");
};

TEST_F(Lifetimes, ARunnerDestroyedInFlightWaitsForItsReplay) {
  auto runner =
      std::make_unique<GraphRunner>(device_, step({.state = true}), RunnerOptions{.rows = kRows});
  runner->capture(
      {{"x", rows_of(x_)}, {"weights", weight_rows(kRows)}, {"total", rows_of(total_, kRows)}});
  Gate gate(*kit_, *device_, side_);
  runner->replay(side_, {});
  LateOpener opener(gate);
  opener.open_soon();
  runner.reset();
  EXPECT_TRUE(opener.opened()) << "its buffers are gone while a replay still writes them";
  device_->synchronize();
  EXPECT_EQ(runs(), 1);
}

TEST_F(Lifetimes, APoolDestroyedInFlightWaitsForItsReplay) {
  auto pool = recorded_pool();
  Gate gate(*kit_, *device_, side_);
  run_on(side_, *pool);
  LateOpener opener(gate);
  opener.open_soon();
  pool.reset();
  EXPECT_TRUE(opener.opened()) << "its buffers are gone while a replay still writes them";
  device_->synchronize();
  EXPECT_EQ(runs(), 1);
}

TEST_F(Lifetimes, APoolDestroyedDuringARecordingLeavesItAlone) {
  const std::size_t free_before = free_bytes();
  auto pool = recorded_pool();
  run_on(side_, *pool);
  Buffer y = floats(1);
  const Graph graph = capture(main_, [&] {
    add(main_, y, 1);
    pool.reset();
    add(main_, y, 1);
  });
  EXPECT_EQ(graph.node_count(), 2u);
  EXPECT_EQ(value_of(y), 1);
  graph.instantiate().launch(main_);
  EXPECT_EQ(value_of(y), 3);
  device_->synchronize();
  EXPECT_EQ(runs(), 1);
  y = Buffer();
  // A driver may keep some of what executables cost, but not the pool's segment.
  EXPECT_GE(free_bytes() + (std::size_t{8} << 20), free_before);
  expect_usable(side_);
}

TEST_F(Lifetimes, AMemoryPoolDestroyedDuringARecordingGivesItsMemoryBackAfterwards) {
  const std::size_t free_before = free_bytes();
  auto memory = MemoryPool::create(device_, {.segment_bytes = std::size_t{16} << 20});
  PoolBlock block = memory->allocate(64, "scratch");
  Buffer y = floats(1);
  const std::size_t free_with = free_bytes();
  ASSERT_LT(free_with, free_before);
  capture(main_, [&] {
    add(main_, y, 1);
    memory.reset();
    block = PoolBlock();  // the last owner of the pool
    EXPECT_EQ(free_bytes(), free_with) << "freed inside a recording";
  });
  y = Buffer();
  EXPECT_EQ(free_bytes(), free_before);
}

TEST_F(Lifetimes, RecordingAgainAndAgainKeepsNoMemory) {
  bool fail = false;
  Step s = step();
  s.run = [&](StepContext& context) {
    run_step(context, false);
    context.scratch(std::size_t{1} << 20, "large");
    if (fail && context.phase() == StepPhase::recording) throw std::runtime_error("mine");
  };
  GraphRunner runner(device_, s, {.rows = kRows});
  const auto record = [&] {
    runner.capture({{"x", rows_of(x_)}, {"weights", weight_rows(kRows)}});
  };
  std::size_t free_after_a_few = 0;
  for (int round = 0; round < 20; ++round) {
    fail = round % 2 == 1;
    if (fail) {
      EXPECT_THROW(record(), std::runtime_error);
    } else {
      record();
      runner.replay();
    }
    runner.reset();
    device_->synchronize();
    if (round == 3) free_after_a_few = free_bytes();
  }
  EXPECT_GE(free_bytes() + (std::size_t{4} << 20), free_after_a_few);
  fail = false;
  record();
  runner.replay();
  EXPECT_EQ(read_out(runner), expected(x_));
}

TEST_F(Lifetimes, ACopyFromOrdinaryMemoryKeepsItsPlaceOnTheStream) {
  Buffer y = floats(1);
  const std::vector<float> values(kCount, 5);
  Gate gate(*kit_, *device_, main_);
  add(main_, y, 1);
  LateOpener opener(gate);
  opener.open_soon();
  y.from_host(main_, std::as_bytes(std::span(values)));
  EXPECT_TRUE(opener.opened()) << "the copy did not wait for the work before it";
  add(main_, y, 1);
  EXPECT_EQ(value_of(y), 6);
}

TEST_F(Lifetimes, AGraphMayGoBeforeItsReplays) {
  Buffer y = floats(1);
  auto graph = std::make_unique<Graph>(capture(main_, [&] { add(main_, y, 1); }));
  GraphExec exec = graph->instantiate();
  Gate gate(*kit_, *device_, main_);
  exec.launch(main_);
  graph.reset();
  exec.launch(main_);
  gate.open();
  EXPECT_EQ(value_of(y), 3);
}

TEST_F(Lifetimes, AnEventMayGoBeforeTheStreamThatWaitsForIt) {
  Buffer y = floats(1);
  Gate gate(*kit_, *device_, main_);
  add(main_, y, 1);
  {
    Event event = device_->create_event();
    main_.record(event);
    side_.wait(event);
  }
  scale(side_, y, y, 10);
  EXPECT_FALSE(side_.query());
  gate.open();
  EXPECT_EQ(value_of(y, side_), 20);
}

TEST_F(Lifetimes, ARunnerRefusesASecondThread) {
  std::atomic<bool> inside{false};
  std::atomic<bool> go_on{false};
  Step slow = step();
  slow.run = [&](StepContext& context) {
    run_step(context, false);
    inside = true;
    while (!go_on) std::this_thread::yield();
  };
  GraphRunner runner(device_, slow, {.rows = kRows});
  std::thread first([&] { runner.capture({{"x", rows_of(x_)}, {"weights", weight_rows(kRows)}}); });
  while (!inside) std::this_thread::yield();
  for (const auto& second : std::vector<std::function<void()>>{
           [&] { runner.replay(); }, [&] { runner.run_eager(); }, [&] { runner.reset(); }}) {
    expect_parts(usage_error_of(second), {"affine", "one lane"});
  }
  go_on = true;
  first.join();
  EXPECT_EQ(runner.state(), RunState::recorded);
  runner.replay();
  EXPECT_EQ(read_out(runner), expected(x_));
}

TEST_F(Lifetimes, TwoThreadsRecordAndRunTheirOwnPools) {
  const auto work = [&](float seed) {
    GraphPoolOptions own;
    own.sizes = {1, 2, 4};
    own.max_rows = kRows;
    own.on_note = [](std::string_view line) { ADD_FAILURE() << line; };
    Step quiet = step();
    quiet.run = [this](StepContext& context) {  // run_step counts calls, for one thread only
      const auto n = static_cast<std::size_t>(context.rows() * kWidth);
      const auto floats_of = [&](std::string_view name) {
        return context.tensor(name).as<float>();
      };
      kit_->copy_scaled(context.stream(), floats_of("out"), floats_of("x"), n, 5);
      kit_->axpy(context.stream(), floats_of("out"), floats_of("weights"), n, 1);
    };
    for (int round = 0; round < 5; ++round) {
      GraphPool pool(device_, quiet, own);
      pool.bind("weights", weight_rows(kRows));
      EXPECT_EQ(pool.record().recorded.size(), 3u);
      for (int rows = 1; rows <= kRows; ++rows) {
        const std::vector<float> x = batch(rows, seed + static_cast<float>(rows));
        EXPECT_EQ(pool.run(rows, {{"x", rows_of(x)}}).path, RunPath::replay);
        EXPECT_EQ(read_out(pool), expected(x));
      }
    }
  };
  std::thread other([&] { work(100); });
  work(0);
  other.join();
}

TEST_F(Lifetimes, TwoThreadsForkAndJoinAtOnce) {
  Buffer x = floats(0);
  Buffer y = floats(0);
  const auto work = [&](Stream& stream, const Buffer& buffer) {
    Stream forked = device_->create_stream("forked from " + stream.name());
    Event fork = device_->create_event();
    Event join = device_->create_event();
    for (int round = 0; round < 50; ++round) {
      const Graph graph = capture(stream, [&] {
        add(stream, buffer, 1);
        stream.record(fork);
        forked.wait(fork);
        add(forked, buffer, 2);
        forked.record(join);
        stream.wait(join);
        add(stream, buffer, 3);
      });
      EXPECT_EQ(graph.node_count(), 3u);
      graph.instantiate().launch(stream);
    }
  };
  std::thread other([&] { work(side_, y); });
  work(main_, x);
  other.join();
  device_->synchronize();
  EXPECT_EQ(value_of(x), 300);
  EXPECT_EQ(value_of(y), 300);
}

TEST_F(Lifetimes, SynchronisingTheDeviceWaitsForAllButTheRecordingStream) {
  Buffer x = floats(1);
  Buffer y = floats(1);
  Gate gate(*kit_, *device_, side_);
  add(side_, y, 1);
  LateOpener opener(gate);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    std::thread([&] {
      opener.open_soon();
      device_->synchronize();
      EXPECT_TRUE(opener.opened()) << "it did not wait for the stream that does not record";
    }).join();
    add(main_, x, 1);
  });
  EXPECT_EQ(graph.node_count(), 2u);
  EXPECT_EQ(value_of(y, side_), 2);
}

}  // namespace
}  // namespace reprise::contract
