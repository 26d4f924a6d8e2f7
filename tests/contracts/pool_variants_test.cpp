// SPDX-License-Identifier: Apache-2.0
// Variants of a step: what each sees, when each is recorded, and that a lazy recording disturbs
// nothing (DESIGN §5).
#include <stdexcept>

#include <reprise/memory_adaptors.h>

#include "contracts/pool_fixture.h"
#include "memory/device_resource.h"

namespace reprise::contract {
namespace {

/// out = 5 x + weights; variant `masked` adds the copied `mask`, `adapted` the bound `delta`. With
/// state, each run adds 1 to `total`.
class PoolVariants : public PoolTest {
 protected:
  static constexpr int kRows = 8;

  Step varied(bool with_state = false) {
    Step s = step({.state = with_state});
    s.bindings.push_back({.name = "mask", .row = Shape{kWidth}, .variants = {"masked"}});
    s.bindings.push_back({.name = "delta",
                          .kind = BindingKind::bound,
                          .row = Shape{kWidth},
                          .variants = {"adapted"}});
    s.run = [this, with_state](StepContext& context) {
      if (context.variant() == "masked" && scratch_of_masked_ > 0) {
        context.scratch(scratch_of_masked_, "more");
      }
      run_step(context, with_state);
      const auto n = static_cast<std::size_t>(context.rows() * kWidth);
      const std::string_view extra = context.variant() == "masked"    ? "mask"
                                     : context.variant() == "adapted" ? "delta"
                                                                      : "";
      calls_.emplace_back(context.variant());
      if (context.variant() == failing_ && context.rows() == failing_rows_ &&
          context.phase() == failing_phase_) {
        throw std::runtime_error("mine");
      }
      if (extra.empty()) return;
      kit_->axpy(context.stream(), context.tensor("out").as<float>(),
                 context.tensor(extra).as<float>(), n, 1);
    };
    return s;
  }
  GraphPoolOptions with(RecordWhen masked, RecordWhen adapted) {
    GraphPoolOptions result = options({2, 4, kRows}, kRows);
    result.variants = {{.name = "plain"},
                       {.name = "masked", .when = masked},
                       {.name = "adapted", .when = adapted}};
    return result;
  }
  GraphPool pool_of(GraphPoolOptions pool_options, bool with_state = false) {
    GraphPool pool(device_, varied(with_state), std::move(pool_options));
    pool.bind("weights", weight_rows(kRows));
    if (with_state) pool.bind("total", rows_of(total_, kRows));
    pool.bind("delta", rows_of(delta_, kRows));
    return pool;
  }
  GraphPool lazy_pool(bool with_state = false) {
    GraphPool pool = pool_of(with(RecordWhen::first_use, RecordWhen::on_request), with_state);
    pool.record();
    return pool;
  }
  static std::vector<float> sum(std::vector<float> a, const std::vector<float>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  std::vector<float> total(Stream& stream) {
    std::vector<float> values(kRows * kWidth);
    total_.to_host(stream, std::as_writable_bytes(std::span(values)));
    return values;
  }
  static RunState state_of(const GraphPool& pool, std::string_view variant, int rows) {
    for (const BucketReport& bucket : pool.buckets()) {
      if (bucket.variant == variant && bucket.rows == rows) return bucket.state;
    }
    ADD_FAILURE() << "no such graph";
    return RunState::lost;
  }

  std::vector<float> mask_ = batch(kRows, 300);
  Buffer delta_ = device_floats(batch(kRows, 7000), "delta");
  Buffer total_ = device_floats(batch(kRows, 50), "total");
  std::vector<std::string> calls_;
  std::string failing_ = "none";
  int failing_rows_ = 4;
  std::size_t scratch_of_masked_ = 0;
  StepPhase failing_phase_ = StepPhase::recording;
};

TEST_F(PoolVariants, EachIsRecordedWithTheWholeLadderAndSeesItsOwnBindings) {
  GraphPool pool = pool_of(with(RecordWhen::at_record, RecordWhen::at_record));
  EXPECT_EQ(pool.record().recorded, (std::vector<int>{8, 8, 8, 4, 4, 4, 2, 2, 2}));
  const std::vector<float> x = batch(3, 1);
  const std::vector<float> mask(mask_.begin(), mask_.begin() + 3 * kWidth);
  EXPECT_EQ(pool.run(3, {{"x", rows_of(x)}}).path, RunPath::replay);
  EXPECT_EQ(read_out(pool), expected(x));
  EXPECT_EQ(pool.run(3, {{"mask", rows_of(mask)}}, "masked").path, RunPath::replay);
  EXPECT_EQ(read_out(pool), sum(expected(x), mask));
  pool.run(3, {}, "masked", RunMode::eager);  // the eager twin
  EXPECT_EQ(read_out(pool), sum(expected(x), mask));
  EXPECT_EQ(pool.run(3, {}, "adapted").path, RunPath::replay);
  EXPECT_EQ(read_out(pool), sum(expected(x), batch(3, 7000)));
  EXPECT_EQ(pool.counters().replays, 3u);
  EXPECT_EQ(pool.counters(pool.variant("masked")).replays, 1u);
  EXPECT_EQ(pool.counters(pool.variant("masked")).eager_steps, 1u);
  EXPECT_EQ(pool.buckets().size(), 9u);
  EXPECT_EQ(pool.buckets()[4].variant, "masked");
  EXPECT_EQ(pool.buckets()[4].replays, 1u);
  EXPECT_EQ(pool.graph(4).node_count() + 1, pool.graph(4, pool.variant("masked")).node_count());
}

TEST_F(PoolVariants, WhatAVariantDoesNotSeeIsRefused) {
  GraphPool pool = lazy_pool();
  const std::vector<float> x = batch(2, 1);
  expect_parts(usage_error_of([&] {
                 pool.run(2, {{"x", rows_of(x)}, {"mask", rows_of(x)}});
               }),
               {"'mask'", "'plain'", "affine"});
  expect_parts(usage_error_of([&] {
                 pool.run(2, {{"x", rows_of(x)}}, "other");
               }),
               {"'other'", "'plain', 'masked', 'adapted'"});
  expect_parts(usage_error_of([&] { pool.run(2, std::vector<Input>{}, Variant{3}); }),
               {"variant 3", "3"});
  expect_parts(usage_error_of([&] {
                 pool.run(2, {{"x", rows_of(x)}}, "masked");
               }),
               {"'mask'", "never given"});
  EXPECT_EQ(state_of(pool, "masked", 2), RunState::cold);  // a refused run records nothing
  EXPECT_EQ(pool.counters().lazy_recordings, 0u);
}

TEST_F(PoolVariants, AnInputKeepsItsRowsPerBinding) {
  GraphPool pool = pool_of(with(RecordWhen::at_record, RecordWhen::at_record));
  pool.record();
  pool.run(4, {{"x", rows_of(batch(4, 1))}, {"mask", rows_of(batch(4, 2))}}, "masked");
  pool.run(3, {{"x", rows_of(batch(3, 1))}});
  expect_parts(usage_error_of([&] { pool.run(3, {}, "masked"); }), {"'mask'", "4 rows", "3"});
}

TEST_F(PoolVariants, NamesMustBeKnownAndDifferent) {
  GraphPoolOptions twice = options({2}, 2);
  twice.variants = {{.name = "plain"}, {.name = "plain"}};
  expect_parts(usage_error_of([&] { GraphPool(device_, step(), twice); }), {"'plain'", "two"});
  GraphPoolOptions unnamed = options({2}, 2);
  unnamed.variants = {{.name = ""}};
  expect_parts(usage_error_of([&] { GraphPool(device_, step(), unnamed); }), {"no name"});
  // A binding names a variant that the pool does not have.
  expect_parts(usage_error_of([&] { GraphPool(device_, varied(), options({2}, 2)); }),
               {"'masked'"});
}

TEST_F(PoolVariants, AFirstUseRecordsOneSizeAndLeavesStateAndInputs) {
  GraphPool pool = lazy_pool(true);
  std::vector<float> totals = batch(kRows, 50);
  const std::vector<float> x = batch(4, 1);
  const std::vector<float> mask = batch(4, 2);
  pool.run(4, {{"x", rows_of(x)}});
  EXPECT_EQ(state_of(pool, "masked", 4), RunState::cold);
  const RunResult result = pool.run(4, {{"mask", rows_of(mask)}}, "masked");  // x keeps its value
  EXPECT_EQ(result.path, RunPath::replay);
  EXPECT_EQ(result.reason, FallbackReason::none);
  const std::vector<float> out = read_out(pool);
  for (std::size_t i = 0; i < 4 * kWidth; ++i) totals[i] += 2;
  EXPECT_EQ(total(pool.stream()), totals);
  totals.resize(4 * kWidth);
  EXPECT_EQ(out, sum(sum(expected(x), totals), mask));
  EXPECT_EQ(state_of(pool, "masked", 4), RunState::recorded);
  EXPECT_EQ(state_of(pool, "masked", 2), RunState::cold);
  EXPECT_EQ(pool.counters().lazy_recordings, 1u);
  const std::size_t calls = calls_.size();
  EXPECT_EQ(pool.run(4, {}, "masked").path, RunPath::replay);
  EXPECT_EQ(calls_.size(), calls);  // recorded once
}

TEST_F(PoolVariants, ADeviceInputSurvivesALazyRecording) {
  GraphPool pool = lazy_pool();
  {
    Buffer x = device_floats(batch(4, 9), "x on the device");
    pool.run(4, {{"x", rows_of(x, 4)}});
  }
  pool.record_variant(4, "masked");
  pool.run(4, {});
  EXPECT_EQ(read_out(pool), expected(batch(4, 9)));
}

TEST_F(PoolVariants, OnRequestRunsEagerlyUntilItIsRecorded) {
  GraphPool pool = lazy_pool();
  const std::vector<float> x = batch(3, 1);
  const RunResult result = pool.run(3, {{"x", rows_of(x)}}, "adapted");
  EXPECT_EQ(result.path, RunPath::eager);
  EXPECT_EQ(result.reason, FallbackReason::not_recorded);
  EXPECT_EQ(read_out(pool), sum(expected(x), batch(3, 7000)));
  ASSERT_EQ(notes_.size(), 1u);
  expect_parts(notes_[0], {"'adapted'", "record_variant()"});
  EXPECT_EQ(pool.record_variant(3, "adapted").recorded, (std::vector<int>{4}));
  EXPECT_TRUE(pool.record_variant(3, "adapted").recorded.empty());  // it is recorded
  EXPECT_EQ(pool.run(3, {}, "adapted").path, RunPath::replay);
  EXPECT_EQ(read_out(pool), sum(expected(x), batch(3, 7000)));
}

TEST_F(PoolVariants, RecordVariantRefusesWhatIsNoSize) {
  GraphPool pool = pool_of(with(RecordWhen::first_use, RecordWhen::on_request));
  expect_parts(usage_error_of([&] { pool.record_variant(2, "masked"); }), {"before record()"});
  pool.record();
  for (const int rows : {0, 9}) {
    expect_parts(usage_error_of([&] { pool.record_variant(rows, "masked"); }), {"2 to 8"});
  }
}

TEST_F(PoolVariants, ALazyRecordingThatFailsDisablesItsOwnGraphOnly) {
  for (const StepPhase phase : {StepPhase::warm_up, StepPhase::recording}) {
    failing_ = "masked";
    failing_phase_ = phase;
    total_ = device_floats(batch(kRows, 50), "total");
    GraphPool pool = lazy_pool(true);
    const std::vector<float> x = batch(4, 1);
    const std::vector<float> mask = batch(4, 2);
    for (int i = 0; i < 2; ++i) {
      const RunResult result = pool.run(4, {{"x", rows_of(x)}, {"mask", rows_of(mask)}}, "masked");
      EXPECT_EQ(result.path, RunPath::eager);
      EXPECT_EQ(result.reason, FallbackReason::bucket_disabled);
    }
    EXPECT_EQ(total(pool.stream())[0], 52);  // two runs, and no trace of the warm-up
    EXPECT_EQ(state_of(pool, "masked", 4), RunState::disabled);
    EXPECT_EQ(pool.counters().lazy_recordings, 1u);
    EXPECT_EQ(
        pool.run(2, {{"x", rows_of(batch(2, 1))}, {"mask", rows_of(batch(2, 2))}}, "masked").path,
        RunPath::replay);
    EXPECT_EQ(pool.run(4, {{"x", rows_of(x)}}).path, RunPath::replay);
    failing_ = "none";
    EXPECT_EQ(pool.record_variant(4, "masked").recorded, (std::vector<int>{4}));
    EXPECT_EQ(pool.run(4, {{"mask", rows_of(mask)}}, "masked").path, RunPath::replay);
  }
}

// The memory pool cannot grow for it, at each of its requests in turn.
TEST_F(PoolVariants, ALazyRecordingWithoutMemoryDisablesItsOwnGraphOnly) {
  std::uint64_t failed = 0;
  for (std::uint64_t nth = 1;; ++nth) {
    const auto upstream = std::make_shared<FailingResource>(
        std::make_shared<DeviceResource>(device_, "upstream"), FailingResource::Plan::nth, nth);
    total_ = device_floats(batch(kRows, 50), "total");
    GraphPoolOptions starved = with(RecordWhen::first_use, RecordWhen::on_request);
    starved.memory = MemoryPool::create(device_, {.name = "starved"}, upstream);
    scratch_of_masked_ = std::size_t{3} << 20;
    GraphPool pool = pool_of(starved, true);
    try {
      pool.record();
    } catch (const OutOfMemory&) {
      continue;
    }
    const std::vector<float> x = batch(4, 1);
    const std::vector<float> mask = batch(4, 2);
    const RunResult result = pool.run(4, {{"x", rows_of(x)}, {"mask", rows_of(mask)}}, "masked");
    EXPECT_EQ(total(pool.stream())[0], 51);
    EXPECT_EQ(pool.run(4, {}).path, RunPath::replay);
    if (upstream->failures() == 0) {
      EXPECT_EQ(result.path, RunPath::replay);
      break;
    }
    ++failed;
    EXPECT_EQ(result.reason, FallbackReason::bucket_disabled);
    EXPECT_EQ(pool.record_variant(4, "masked").recorded, (std::vector<int>{4}));
    EXPECT_EQ(pool.run(4, {}, "masked").path, RunPath::replay);
    EXPECT_EQ(total(pool.stream())[0], 53);
  }
  EXPECT_GT(failed, 0u);
}

TEST_F(PoolVariants, LazyRecordingsReuseTheMemoryOfTheOthers) {
  GraphPool pool = lazy_pool();
  const std::uint64_t reserved = pool.memory()->statistics().reserved_bytes.current;
  for (const int rows : {2, 8, 4}) pool.record_variant(rows, "masked");
  EXPECT_EQ(pool.memory()->statistics().reserved_bytes.current, reserved);
  for (const int rows : {2, 4, 8}) {
    pool.run(rows, {{"x", rows_of(batch(rows, 1))}});
    EXPECT_EQ(read_out(pool), expected(batch(rows, 1)));
  }
}

TEST_F(PoolVariants, ScratchIsReservedForLazyRecordings) {
  GraphPoolOptions reserving = with(RecordWhen::first_use, RecordWhen::on_request);
  reserving.lazy_scratch_bytes = std::size_t{5} << 20;
  GraphPool pool = pool_of(reserving);
  EXPECT_GE(pool.record().pool_bytes, std::size_t{5} << 20);
}

TEST_F(PoolVariants, AnUnboundTensorOfALazyVariantIsAnErrorThatPasses) {
  GraphPool pool(device_, varied(), with(RecordWhen::on_request, RecordWhen::first_use));
  pool.bind("weights", weight_rows(kRows));
  pool.record();
  const std::vector<float> x = batch(4, 1);
  expect_parts(usage_error_of([&] {
                 pool.run(4, {{"x", rows_of(x)}}, "adapted");
               }),
               {"'delta'", "bind it"});
  EXPECT_EQ(state_of(pool, "adapted", 4), RunState::cold);
  pool.bind("delta", rows_of(delta_, kRows));
  EXPECT_EQ(pool.run(4, {{"x", rows_of(x)}}, "adapted").path, RunPath::replay);
  EXPECT_EQ(read_out(pool), sum(expected(x), batch(4, 7000)));
}

TEST_F(PoolVariants, ARunnerRecordsOne) {
  GraphRunner runner(device_, varied(), {.rows = 4, .variant = "masked"});
  const std::vector<float> x = batch(4, 1);
  const std::vector<float> mask = batch(4, 2);
  runner.capture({{"x", rows_of(x)}, {"mask", rows_of(mask)}, {"weights", weight_rows(4)}});
  runner.replay();
  EXPECT_EQ(read_out(runner), sum(expected(x), mask));
}

TEST_F(PoolVariants, FakeRecordingsAreLazyToo) {
  GraphPoolOptions faked = with(RecordWhen::first_use, RecordWhen::on_request);
  faked.record_mode = RecordMode::fake;
  GraphPool pool = pool_of(faked, true);
  pool.record();
  const std::vector<float> x = batch(2, 1);
  EXPECT_EQ(pool.run(2, {{"x", rows_of(x)}, {"mask", rows_of(x)}}, "masked").path, RunPath::fake);
  EXPECT_EQ(total(pool.stream())[0], 51);
}

}  // namespace
}  // namespace reprise::contract
