// SPDX-License-Identifier: Apache-2.0
// The inside of GraphPool: buckets, the two passes of recording, and the choice of a path per run.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/graph_pool.h>

#include "device/profiler_range.h"
#include "graph/state_saver.h"
#include "graph/step_harness.h"
#include "graph/tracked_state.h"

namespace reprise {

/// One size of one variant.
struct Bucket {
  StepKey key = {};
  TrackedState state = {};
  RunState before_sleep = RunState::cold;  ///< valid while asleep
  std::string reason = {};
  std::optional<RecordedStep> recorded = {};  ///< of a stale one, until it is recorded again
  SelfTest self_test = SelfTest::none;
  RangeName replay_range = {};  ///< made by record()
  std::uint64_t replays = 0;
  std::uint64_t fake_replays = 0;
  std::uint64_t padded_rows = 0;
  std::uint64_t fallbacks = 0;
};

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A variant, and what its runs counted.
struct VariantBooks {
  VariantOptions options = {};
  PoolCounters counters = {};
  std::array<bool, kFallbackReasons> noted = {};
};

struct GraphPool::Impl {
  Impl(std::shared_ptr<Device> device, Step step, GraphPoolOptions pool_options);

  // graph_pool_record.cpp
  void bind(std::string_view name, const TensorView& tensor);
  RecordReport record();
  void reset();

  // graph_pool_run.cpp
  RunResult run(Stream& stream, int rows, std::span<const Input> inputs, Variant variant,
                RunMode mode);

  // graph_pool_lazy.cpp
  RecordReport record_variant(int rows, Variant variant);

  // graph_pool_rebind.cpp
  RecordReport rebind(std::span<const Input> tensors);

  // graph_pool_self_test.cpp
  std::optional<SelfTestResult> self_test_next();

  // graph_pool_sleep.cpp
  void sleep();
  void wake();

  bool recorded() const noexcept { return recorded_; }
  bool asleep() const noexcept { return asleep_; }
  bool fake() const noexcept { return options.record_mode == RecordMode::fake; }
  /// Smallest bucket of the variant that holds `rows`, null above the ladder.
  Bucket* find(int rows, Variant variant) noexcept;
  Variant find_variant(std::string_view name) const;
  /// Throws UsageError for a variant that there is not.
  void check(Variant variant) const;

  GraphPoolOptions options;
  std::vector<int> sizes;  // ascending
  int max_rows;
  StepHarness harness;
  std::vector<VariantBooks> variants;
  std::vector<std::uint64_t> batches;  // by rows - 1
  std::vector<Bucket> buckets;         // variant by variant, each in ascending order of rows

 private:
  struct Choice {
    Bucket* bucket = nullptr;  // null above the ladder
    StepKey key = {};          // to compute
    bool replay = false;
    bool prepare = false;  // its graph is to be recorded first
    FallbackReason reason = FallbackReason::none;
  };

  // graph_pool_record.cpp
  std::vector<Bucket*> recording_order(const std::function<bool(const Bucket&)>& wanted);
  void warm_up(StepKey key, StateSaver& states);
  void warm_up_all(std::span<Bucket* const> order, StateSaver& states);
  void record_all(std::span<Bucket* const> order, StateSaver& states, RecordReport& report);
  void record_buckets(std::span<Bucket* const> order, StateSaver& states, RecordReport& report);
  void record_bucket(Bucket& bucket, StateSaver& states, RecordReport& report);
  void finish(RecordReport& report) const;
  void drop_graphs();
  void disable(Bucket& bucket, const std::string& why);
  std::size_t measure_executables(const std::function<void()>& work);
  void progress(PoolPhase phase, const Bucket& bucket, std::size_t done, std::size_t of,
                const Stopwatch& watch) const;

  // graph_pool_lazy.cpp
  void between_runs(const std::function<void(StateSaver&)>& work);
  static void begin_again(Bucket& bucket);
  static void give_up(Bucket& bucket) noexcept;
  void record_lazily(Bucket& bucket, RecordReport& report);
  void record_alone(Bucket& bucket, StateSaver& states, RecordReport& report);

  // graph_pool_rebind.cpp
  const std::string* stale_reason(int variant) const;
  void make_stale(Slot slot, const std::string& why);
  void note_moves(std::span<const Input> inputs);

  // graph_pool_self_test.cpp
  bool wants_tests() const noexcept {
    return options.self_test && !harness.step().undeclared_state;
  }
  void test(Bucket& bucket, StateSaver& states);
  void test_all(std::span<Bucket* const> order, StateSaver& states);
  std::vector<Bucket*> untested();

  // graph_pool_sleep.cpp
  void require_awake(std::string_view call) const;

  // graph_pool_run.cpp
  bool fit(Bucket& bucket, Stream& stream);
  void require_fresh(Variant variant) const;
  Choice choose(int rows, Variant variant, RunMode mode);
  void answer(Choice& choice, bool asked_for_eager) const;
  VariantBooks& books(StepKey key) { return variants[static_cast<std::size_t>(key.variant)]; }
  const VariantBooks& books(StepKey key) const {
    return variants[static_cast<std::size_t>(key.variant)];
  }
  void prepare(Bucket& bucket, std::span<const Input> inputs, int rows);
  void count(const Choice& choice, int rows);
  void note_fallback(const Choice& choice, int rows);
  void note(std::string_view line) const;

  bool recorded_ = false;
  bool asleep_ = false;
  std::vector<std::string> moved_;  // by binding: where its tensor went; "" while it is in place
  std::exception_ptr first_error_;  // of the present record()
};

}  // namespace reprise
