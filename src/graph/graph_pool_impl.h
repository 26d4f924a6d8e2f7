// SPDX-License-Identifier: Apache-2.0
// The inside of GraphPool: buckets, the two passes of recording, and the choice of a path per run.
#pragma once

#include <array>
#include <cstdint>
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

struct Bucket {
  int rows = 0;
  TrackedState state = {};
  std::string reason = {};
  std::optional<RecordedStep> recorded = {};
  RangeName replay_range = {};  ///< made by record()
  std::uint64_t replays = 0;
  std::uint64_t fake_replays = 0;
  std::uint64_t padded_rows = 0;
  std::uint64_t fallbacks = 0;
};

struct GraphPool::Impl {
  Impl(std::shared_ptr<Device> device, Step step, GraphPoolOptions pool_options);

  // graph_pool_record.cpp
  void bind(std::string_view name, const TensorView& tensor);
  RecordReport record();
  void reset();

  // graph_pool_run.cpp
  RunResult run(Stream& stream, int rows, std::span<const Input> inputs, RunMode mode);

  bool fake() const noexcept { return options.record_mode == RecordMode::fake; }
  /// Smallest bucket that holds `rows`, null above the ladder.
  Bucket* find(int rows) noexcept;

  GraphPoolOptions options;
  std::vector<int> sizes;  // ascending
  int max_rows;
  StepHarness harness;
  std::vector<Bucket> buckets;  // ascending
  PoolCounters counters;

 private:
  struct Choice {
    Bucket* bucket = nullptr;  // null above the ladder
    int rows = 0;              // to compute
    bool replay = false;
    FallbackReason reason = FallbackReason::none;
  };

  void warm_up(StateSaver& states);
  RecordReport record_all(StateSaver& states);
  void record_buckets(RecordReport& report, StateSaver& states);
  void record_bucket(Bucket& bucket, RecordReport& report);
  void test_buckets(StateSaver& states);
  void drop_graphs();
  void disable(Bucket& bucket, const std::string& why);
  void require_entry() const;
  Choice choose(int rows, RunMode mode);
  void count(const Choice& choice, int rows);
  void note_fallback(FallbackReason reason, int rows);
  void note(std::string_view line) const;

  bool recorded_ = false;
  std::string stale_reason_;
  std::array<bool, kFallbackReasons> noted_{};
};

}  // namespace reprise
