// SPDX-License-Identifier: Apache-2.0
// Executables of a pool on a true device: updated in place, shared, bounded (DESIGN §4.9); and ten
// thousand runs against an eager twin. The rules alone: tests/graph/executables_test.cpp.
#include <algorithm>
#include <random>
#include <set>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

class PoolExecutables : public PoolTest {
 protected:
  static constexpr int kRows = 8;

  GraphPool recorded_pool(GraphPoolOptions with) {
    GraphPool pool(device_, step(), std::move(with));
    pool.bind("weights", weight_rows(kRows));
    pool.record();
    return pool;
  }
  void expect_right(GraphPool& pool, int rows, float seed) {
    const std::vector<float> x = batch(rows, seed);
    EXPECT_EQ(pool.run(rows, {{"x", rows_of(x)}}).path, RunPath::replay);
    ASSERT_EQ(read_out(pool), expected(x)) << rows;
  }
  static std::size_t structures(const GraphPool& pool) {
    std::set<std::uint64_t> signatures;
    for (const BucketReport& bucket : pool.buckets()) {
      signatures.insert(pool.graph(bucket.rows).signature());
    }
    return signatures.size();
  }
  std::size_t notes_with(const std::string& part) const {
    return static_cast<std::size_t>(std::count_if(
        notes_.begin(), notes_.end(),
        [&](const std::string& note) { return note.find(part) != std::string::npos; }));
  }
};

TEST_F(PoolExecutables, ARepeatedRecordingUpdatesThem) {
  GraphPool pool = recorded_pool(options({2, 4, kRows}, kRows));
  EXPECT_EQ(pool.executables().live, 3u);
  EXPECT_EQ(pool.executables().instantiated, 3u);
  const std::vector<float> other = batch(kRows, 5000);
  Buffer moved = device_floats(other, "moved");
  pool.rebind("weights", rows_of(moved, kRows));
  EXPECT_EQ(pool.executables().live, 3u);
  EXPECT_EQ(pool.executables().instantiated, 3u);
  EXPECT_EQ(pool.executables().updated, 3u);
  weight_values_ = other;
  for (const int rows : {1, 3, 8}) expect_right(pool, rows, 7);
}

TEST_F(PoolExecutables, ARunnerUpdatesItsOwn) {
  GraphRunner runner(device_, step(), {.rows = 3});
  const std::vector<float> x = batch(3, 1);
  runner.capture({{"x", rows_of(x)}, {"weights", weight_rows(3)}});
  weight_values_ = batch(3, 5000);
  Buffer moved = device_floats(weight_values_, "moved");
  runner.rebind({{"weights", rows_of(moved, 3)}});
  runner.replay();
  EXPECT_EQ(read_out(runner), expected(x));
}

TEST_F(PoolExecutables, EqualStructuresShareOne) {
  GraphPoolOptions sharing = options({1, 2, 4, kRows}, kRows);
  sharing.share_executables = true;
  GraphPool pool = recorded_pool(sharing);
  const std::size_t different = structures(pool);
  EXPECT_EQ(pool.executables().live, different);
  EXPECT_EQ(pool.executables().instantiated, different);
  EXPECT_EQ(pool.executables().shared, 4 - different);
  for (int run = 0; run < 200; ++run) expect_right(pool, 1 + run % kRows, static_cast<float>(run));
  EXPECT_EQ(pool.executables().live, different);
  EXPECT_EQ(pool.executables().switched > 0, different < 4);
  if (different > 1) return;
  for (int run = 0; run < 100; ++run) expect_right(pool, 1 << run % 4, 1);
  EXPECT_GT(pool.executables().thrashed, 0u);
  EXPECT_EQ(notes_with("share_executables"), 1u);
}

TEST_F(PoolExecutables, ABoundHoldsAndIsSaidToThrash) {
  GraphPoolOptions bounded = options({1, 2, 4, kRows}, kRows);
  bounded.max_executables = 2;
  GraphPool pool = recorded_pool(bounded);
  for (int run = 0; run < 100; ++run) expect_right(pool, run % 2 == 0 ? 1 : 2, 1);
  EXPECT_EQ(notes_.size(), 0u);
  const std::uint64_t dropped = pool.executables().dropped;
  for (int run = 0; run < 200; ++run) {
    expect_right(pool, 1 + run % kRows, static_cast<float>(run));
    ASSERT_LE(pool.executables().live, 2u);
  }
  EXPECT_GT(pool.executables().dropped, dropped);
  EXPECT_EQ(pool.executables().instantiated, pool.executables().dropped + 2);
  for (int run = 0; run < 100; ++run) expect_right(pool, run % 2 == 0 ? 1 : 3, 1);
  EXPECT_EQ(pool.executables().thrashed, 0u);  // eight sizes over four graphs: half of them wait
  for (int run = 0; run < 100; ++run) expect_right(pool, 1 << run % 4, 1);
  EXPECT_GT(pool.executables().thrashed, 0u);
  EXPECT_EQ(notes_with("max_executables"), 1u);
}

/// A replaying pool and its eager twin, with three variants, state, and a ladder that ends early.
class PoolTwins : public PoolTest {
 protected:
  Step varied() {
    Step s = step({.state = true});
    s.bindings.push_back({.name = "mask", .row = Shape{kWidth}, .variants = {"masked"}});
    s.run = [this](StepContext& context) {
      run_step(context, true);
      if (context.variant() == "plain") return;
      const bool masked = context.variant() == "masked";
      kit_->axpy(context.stream(), context.tensor("out").as<float>(),
                 context.tensor(masked ? "mask" : "x").as<float>(),
                 static_cast<std::size_t>(context.rows() * kWidth), masked ? 1 : 3);
    };
    return s;
  }
  GraphPool pool_of(GraphPoolOptions with, const Buffer& total) {
    with.variants = {{.name = "plain"},
                     {.name = "masked", .when = RecordWhen::first_use},
                     {.name = "tripled", .when = RecordWhen::on_request}};
    GraphPool pool(device_, varied(), std::move(with));
    pool.bind("weights", weight_rows(kMaxRows));
    pool.bind("total", rows_of(total, kMaxRows));
    return pool;
  }
  // Outputs are kept on the device and compared many at a time: runs follow each other closely, and
  // the host waits seldom.
  void keep_output(GraphPool& pool, Buffer& log, int run) {
    const TensorView out = pool.output("out").tensor;
    const std::size_t place = static_cast<std::size_t>(run % kKept) * kMostBytes;
    pool.stream().copy(log.view(place, out.bytes()), {out.data, out.bytes(), MemorySpace::device});
  }
  static std::vector<std::byte> contents(const Buffer& buffer, Stream& stream) {
    std::vector<std::byte> bytes(buffer.bytes());
    buffer.to_host(stream, bytes);
    return bytes;
  }
  void compare(GraphPoolOptions with, int runs, std::uint32_t seed) {
    ASSERT_EQ(runs % kKept, 0);
    for (Buffer* log : {&log_, &twin_log_}) main_.fill(log->view(), 0);
    main_.synchronize();
    Buffer total = device_floats(batch(kMaxRows, 3), "total");
    Buffer twin_total = device_floats(batch(kMaxRows, 3), "total of the twin");
    GraphPool pool = pool_of(with, total);
    GraphPool twin = pool_of(options(with.sizes, kMaxRows), twin_total);
    pool.record();
    const Slot slots[] = {pool.slot("x"), pool.slot("mask")};
    std::mt19937 random(seed);
    for (int run = 0; run < runs; ++run) {
      const int rows = 1 + static_cast<int>(random() % kMaxRows);
      const Variant variant{static_cast<int>(random() % 3)};
      if (random() % 200 == 0) pool.record_variant(1 + rows / 2, "tripled");
      if (random() % 50 == 0) pool.self_test_next();
      const auto first = static_cast<std::ptrdiff_t>(random() % 1000);
      x_.assign(values_.begin() + first, values_.begin() + first + rows * kWidth);
      mask_.assign(values_.rend() - first - rows * kWidth, values_.rend() - first);
      const Input inputs[] = {{slots[0], rows_of(x_)}, {slots[1], rows_of(mask_)}};
      const auto given = std::span<const Input>(inputs, variant.index == 1 ? 2 : 1);
      const RunResult result = pool.run(rows, given, variant);
      const RunResult eager = twin.run(rows, given, variant, RunMode::eager);
      ASSERT_EQ(result.bucket, eager.bucket);
      keep_output(pool, log_, run);
      keep_output(twin, twin_log_, run);
      if ((run + 1) % kKept != 0) continue;
      ASSERT_EQ(contents(log_, pool.stream()), contents(twin_log_, twin.stream()))
          << "seed " << seed << ", runs up to " << run;
    }
    EXPECT_EQ(contents(total, pool.stream()), contents(twin_total, twin.stream()));
    const PoolCounters counters = pool.counters();
    EXPECT_GT(counters.replays, static_cast<std::uint64_t>(runs) / 2);
    EXPECT_GT(counters.lazy_recordings, 4u);
    EXPECT_GT(counters.fallbacks[static_cast<std::size_t>(FallbackReason::above_ladder)], 0u);
    EXPECT_GT(counters.fallbacks[static_cast<std::size_t>(FallbackReason::not_recorded)], 0u);
    EXPECT_EQ(counters.self_test_failures, 0u);
  }

  static constexpr int kKept = 50;
  static constexpr std::size_t kMostBytes = kMaxRows * kWidth * sizeof(float);
  Buffer log_ = device_->allocate(kKept * kMostBytes, "outputs");
  Buffer twin_log_ = device_->allocate(kKept * kMostBytes, "outputs of the twin");
  std::vector<float> values_ = batch(kMaxRows + 125, 0.5F);
  std::vector<float> x_;
  std::vector<float> mask_;
};

TEST_F(PoolTwins, TenThousandRunsOfRandomBucketsAndVariantsEqualAnEagerTwin) {
  for (std::uint32_t kind = 0; kind < 4; ++kind) {
    GraphPoolOptions with = options({1, 2, 4, 8, 16, 24, 32}, kMaxRows);
    with.postpone_self_test = kind % 2 == 1;
    with.share_executables = kind >= 1;
    with.max_executables = kind >= 2 ? 5 : 0;
    compare(with, 2500, kind + 1);
  }
}

}  // namespace
}  // namespace reprise::contract
