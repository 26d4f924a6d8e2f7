// SPDX-License-Identifier: Apache-2.0
// What a pool of graphs tells: the path of a run, counters, the state of each graph, what recording
// cost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/run_state.h>

namespace reprise {

enum class RunPath : std::uint8_t {
  replay,  ///< a recorded graph was launched
  eager,   ///< the step function was called
  fake,    ///< the step function was called where a graph would have been launched
};

enum class FallbackReason : std::uint8_t {
  none,             ///< replayed (or fake), or eager because the caller asked for it
  above_ladder,     ///< more rows than the largest recorded size
  padding_refused,  ///< no graph of exactly this size, and padding is off
  not_recorded,     ///< the size is cold or warm
  bucket_disabled,  ///< recording or self-test of the size failed
};
inline constexpr std::size_t kFallbackReasons = 5;
std::string_view to_string(FallbackReason reason) noexcept;

struct RunResult {
  RunPath path = RunPath::replay;
  FallbackReason reason = FallbackReason::none;
  int rows = 0;    ///< true rows
  int bucket = 0;  ///< rows computed
};

/// One size of one variant.
struct BucketReport {
  int rows = 0;
  std::string variant = {};  ///< "" where the step has none
  RunState state = RunState::cold;
  std::string reason;              ///< why stale, disabled or lost; "" otherwise
  std::size_t nodes = 0;           ///< of its graph; 0 where there is none
  std::uint64_t replays = 0;       ///< of its graph
  std::uint64_t fake_replays = 0;  ///< calls of the step in place of a graph
  std::uint64_t padded_rows = 0;
  std::uint64_t fallbacks = 0;
};

/// What one call recorded. With variants a size stands once per variant in the lists.
struct RecordReport {
  double warm_up_seconds = 0;
  RecordMode mode = RecordMode::graphs;
  double record_seconds = 0;  ///< record, instantiate, upload
  double self_test_seconds = 0;
  std::size_t pool_bytes = 0;  ///< reserved by the memory pool afterwards
  std::size_t executable_bytes =
      0;                      ///< fall of the device's free memory round instantiate + upload
  std::vector<int> recorded;  ///< in the order of recording: descending
  std::vector<int> disabled;  ///< by recording or self-test, now or before
  /// Recordings that something outside the library ended and that were made once more.
  std::uint64_t retried = 0;
};

struct PoolCounters {
  std::uint64_t replays = 0;       ///< launches of graphs
  std::uint64_t fake_replays = 0;  ///< with RecordMode::fake; never among `replays`
  std::uint64_t eager_steps = 0;   ///< asked for, or fallen back to
  std::uint64_t padded_rows = 0;   ///< rows computed beyond the true ones
  /// Graphs that were recorded after record(), at their first use or by record_variant().
  std::uint64_t lazy_recordings = 0;
  std::array<std::uint64_t, kFallbackReasons> fallbacks{};
  std::uint64_t all_fallbacks() const noexcept;
  PoolCounters& operator+=(const PoolCounters& other) noexcept;
};

}  // namespace reprise
