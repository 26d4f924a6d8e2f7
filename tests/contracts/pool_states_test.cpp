// SPDX-License-Identifier: Apache-2.0
// Every transition of the table is made by public calls, and a run answers as the table says
// (DESIGN §4.7). What the table does not have, tests/graph/tracked_state_test.cpp tries.
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

using Pair = std::pair<RunState, RunState>;

std::string text_of(const std::set<Pair>& pairs) {
  std::string text;
  for (const auto& [from, to] : pairs) {
    text += std::string(to_string(from)) + "→" + std::string(to_string(to)) + " ";
  }
  return text;
}

/// A pool of its own device, so that it may be lost, which looks at its states whenever it can.
class World {
 public:
  explicit World(Kit& kit, std::set<Pair>& seen) : seen_(seen), kit_(kit), device_(kit.open()) {
    GraphPoolOptions options;
    options.sizes = {2, 4};
    options.on_note = [this](std::string_view) { look(); };
    options.on_progress = [this](const PoolProgress& progress) {
      look();
      if (on_progress) on_progress(progress);
    };
    pool_ = std::make_unique<GraphPool>(device_, step(), options);
    for (const Buffer& buffer : {std::cref(here_), std::cref(there_)}) {
      pool_->stream().fill(buffer.view(), 0);
    }
    pool_->stream().synchronize();
    pool_->bind("weights", tensor(here_));
  }

  GraphPool& pool() { return *pool_; }
  Device& device() { return *device_; }
  /// Makes a call and looks what became of it.
  template <class Call>
  void then(const Call& call) {
    try {
      call();
    } catch (const std::exception&) {
      look();
      return;
    } catch (int) {
      look();
      return;
    }
    look();
  }
  void record() {
    then([&] { pool_->record(); });
  }
  RunResult run() {
    RunResult result;
    const std::vector<float> x(4, 1);
    TensorView view = host_tensor(std::span<const float>(x));
    view.shape = Shape{4, 1};
    result = pool_->run(4, {{"x", view}});
    look();
    return result;
  }
  void move_weights() {
    then([&] { pool_->run(4, {{"weights", tensor(there_)}}); });
  }
  void repair() {
    then([&] { pool_->rebind("weights", tensor(there_)); });
  }
  /// From a thread of its own: the calling one may be recording.
  void lose() {
    std::thread([&] {
      try {
        Stream stream = device_->create_stream("fatal");
        kit_.lose_device(stream, "planned");
        stream.synchronize();
      } catch (const DeviceError&) {
      }
    }).join();
    look();
  }

  std::function<void(StepContext&)> on_step;
  std::function<void(const PoolProgress&)> on_progress;

 private:
  Step step() {
    Step step;
    step.name = "watched";
    step.bindings = {{.name = "x", .row = Shape{1}},
                     {.name = "weights", .kind = BindingKind::bound, .row = Shape{1}},
                     {.name = "out", .kind = BindingKind::output, .row = Shape{1}}};
    step.run = [this](StepContext& context) {
      look();
      const auto n = static_cast<std::size_t>(context.rows());
      auto* const out = context.tensor("out").as<float>();
      kit_.copy_scaled(context.stream(), out, context.tensor("x").as<float>(), n, 2);
      kit_.axpy(context.stream(), out, context.tensor("weights").as<float>(), n, 1);
      if (on_step) on_step(context);
    };
    return step;
  }
  TensorView tensor(const Buffer& buffer) const { return buffer.tensor(DType::f32, Shape{4, 1}); }
  void look() {
    if (pool_ == nullptr) return;
    for (const BucketReport& bucket : pool_->buckets()) {
      RunState& last = last_[bucket.rows];
      if (last != bucket.state) seen_.insert({last, bucket.state});
      last = bucket.state;
    }
  }

  std::set<Pair>& seen_;
  Kit& kit_;
  std::shared_ptr<Device> device_;
  Buffer here_ = device_->allocate(4 * sizeof(float), "here");
  Buffer there_ = device_->allocate(4 * sizeof(float), "there");
  std::map<int, RunState> last_;
  std::unique_ptr<GraphPool> pool_;
};

class PoolStates : public PoolTest {
 protected:
  /// Throws in that phase of size 2.
  static std::function<void(StepContext&)> failing(StepPhase phase) {
    return [phase](StepContext& context) {
      if (context.rows() == 2 && context.phase() == phase) throw std::runtime_error("mine");
    };
  }
  /// What is recorded is something else than what runs eagerly.
  std::function<void(StepContext&)> differing() {
    return [this](StepContext& context) {
      if (context.rows() != 2 || context.phase() != StepPhase::recording) return;
      kit_->add(context.stream(), context.tensor("out").as<float>(), 2, 1);
    };
  }

  void lose_from_each();

  std::set<Pair> seen_;
};

void PoolStates::lose_from_each() {
  {
    World cold(*kit_, seen_);
    cold.lose();
  }
  {
    World warm(*kit_, seen_);  // size 4 is warm when size 2 has its turn
    warm.on_step = [&](StepContext& context) {
      if (context.rows() == 2) warm.lose();
    };
    warm.record();
  }
  {
    World recording(*kit_, seen_);
    recording.on_step = [&](StepContext& context) {
      if (context.phase() == StepPhase::recording) recording.lose();
    };
    recording.record();
  }
  for (const bool stale : {false, true}) {
    World recorded(*kit_, seen_);
    recorded.record();
    if (stale) recorded.move_weights();
    recorded.lose();
    recorded.then([&] { recorded.pool().reset(); });  // and there is no way back
    EXPECT_EQ(recorded.pool().buckets()[0].state, RunState::lost);
  }
  {
    World asleep(*kit_, seen_);
    asleep.then([&] { asleep.pool().sleep(); });
    asleep.lose();
    asleep.then([&] { asleep.pool().wake(); });
  }
  {
    World disabled(*kit_, seen_);
    disabled.on_step = failing(StepPhase::recording);
    disabled.record();
    disabled.lose();
  }
}

TEST_F(PoolStates, EveryTransitionOfTheTableIsMadeByPublicCalls) {
  {
    World plain(*kit_, seen_);
    plain.then([&] { plain.pool().sleep(); });
    plain.then([&] { plain.pool().wake(); });
    plain.record();
    plain.then([&] { plain.pool().sleep(); });
    plain.then([&] { plain.pool().wake(); });
    plain.move_weights();
    plain.then([&] { plain.pool().sleep(); });
    plain.then([&] { plain.pool().wake(); });
    plain.repair();
    plain.then([&] { plain.pool().reset(); });
  }
  for (const StepPhase phase : {StepPhase::warm_up, StepPhase::recording}) {
    World failed(*kit_, seen_);
    failed.on_step = failing(phase);
    failed.record();
    failed.then([&] { failed.pool().sleep(); });
    failed.then([&] { failed.pool().wake(); });
    failed.on_step = nullptr;
    failed.then([&] { failed.pool().record_variant(2, ""); });
    EXPECT_EQ(failed.pool().buckets()[0].state, RunState::recorded);
  }
  {
    World different(*kit_, seen_);
    different.on_step = differing();
    different.record();
  }
  {
    World stopped(*kit_, seen_);
    stopped.on_progress = [](const PoolProgress& progress) {
      if (progress.done == 2) throw std::runtime_error("enough");
    };
    stopped.record();
  }
  {
    World thrown(*kit_, seen_);  // something that is no error
    thrown.on_step = [](StepContext& context) {
      if (context.phase() == StepPhase::recording) throw 1;
    };
    thrown.record();
  }
  if (kit_->can_lose_device()) lose_from_each();

  // A graph that is recorded alone is warm where nobody looks.
  seen_.erase({RunState::cold, RunState::recording});
  std::set<Pair> allowed;
  for (int from = 0; from <= static_cast<int>(RunState::lost); ++from) {
    for (int to = 0; to <= static_cast<int>(RunState::lost); ++to) {
      const Pair pair{static_cast<RunState>(from), static_cast<RunState>(to)};
      if (pair.second == RunState::lost && !kit_->can_lose_device()) continue;
      if (can_transition(pair.first, pair.second)) allowed.insert(pair);
    }
  }
  EXPECT_EQ(seen_, allowed) << "made: " << text_of(seen_) << "\nallowed: " << text_of(allowed);
}

// Another call is inside while a size is warm or recording: that refusal comes first.
TEST_F(PoolStates, ARunAnswersAsTheTableSays) {
  World world(*kit_, seen_);
  const auto refused = [&] { return usage_error_of([&] { world.run(); }); };
  EXPECT_EQ(world.run().reason, FallbackReason::not_recorded);  // cold
  std::string warm;
  std::string recording;
  world.on_progress = [&](const PoolProgress&) { warm = refused(); };
  world.on_step = [&](StepContext& context) {
    if (context.phase() == StepPhase::recording) recording = refused();
  };
  world.record();
  expect_parts(warm, {"GraphPool::run", "another call is inside"});
  expect_parts(recording, {"GraphPool::run", "another call is inside"});
  EXPECT_EQ(world.run().path, RunPath::replay);
  world.pool().sleep();
  expect_parts(refused(), {"run()", "asleep", "wake()"});
  world.pool().wake();
  EXPECT_EQ(world.run().path, RunPath::replay);
  world.move_weights();
  expect_parts(refused(), {"stale", "'weights'", "rebind()"});
  world.on_step = [](StepContext& context) {
    if (context.phase() == StepPhase::recording) throw std::runtime_error("mine");
  };
  world.repair();
  EXPECT_EQ(world.run().reason, FallbackReason::bucket_disabled);
  if (!kit_->can_lose_device()) return;
  world.lose();
  expect_parts(thrown_by<DeviceError>([&] { world.run(); })->what(), {"lost", "planned"});
}

TEST_F(PoolStates, AsleepRefusesWhatWouldTouchMemory) {
  World world(*kit_, seen_);
  GraphPool& pool = world.pool();
  expect_parts(usage_error_of([&] { pool.wake(); }), {"not asleep"});
  world.record();
  for (int i = 0; i < 200; ++i) world.run();
  pool.sleep();
  EXPECT_TRUE(pool.stream().query());  // nothing works on what goes away now
  EXPECT_TRUE(pool.readiness().asleep);
  EXPECT_EQ(pool.readiness().graphs, 2u);
  EXPECT_FALSE(pool.readiness().complete());
  const std::map<std::string, std::function<void()>> calls{
      {"run()", [&] { world.run(); }},
      {"record()", [&] { pool.record(); }},
      {"record_variant()", [&] { pool.record_variant(2, ""); }},
      {"rebind()", [&] { pool.rebind({}); }},
      {"self_test_next()", [&] { pool.self_test_next(); }},
      {"reset()", [&] { pool.reset(); }},
      {"sleep()", [&] { pool.sleep(); }}};
  for (const auto& [name, call] : calls) {
    expect_parts(usage_error_of(call), {name, "asleep", "wake()"});
  }
  pool.wake();
  EXPECT_TRUE(pool.readiness().complete());
  EXPECT_EQ(world.run().path, RunPath::replay);
}

}  // namespace
}  // namespace reprise::contract
