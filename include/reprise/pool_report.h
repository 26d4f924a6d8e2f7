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

/// What is known of a graph's self-test.
enum class SelfTest : std::uint8_t {
  none,     ///< there is no graph, or nothing tests it
  pending,  ///< served untested: GraphPool::self_test_next() has not come to it
  passed,   ///< replay equals eager bitwise
  failed,   ///< it does not, or the test broke off; the size is disabled
};
std::string_view to_string(SelfTest test) noexcept;

/// One size of one variant.
struct BucketReport {
  int rows = 0;
  std::string variant = {};  ///< "" where the step has none
  RunState state = RunState::cold;
  std::string reason;  ///< why stale, disabled or lost; "" otherwise
  SelfTest self_test = SelfTest::none;
  std::size_t nodes = 0;  ///< of its graph; 0 where there is none
  /// Its part, by nodes, of what the executables were measured to take of the device's memory; 0
  /// while it has none of its own (shared and another size's now, or dropped).
  std::size_t executable_bytes = 0;
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
  /// Fall of the device's free memory round instantiate + upload; 0 on the host, where executables
  /// are memory of the process.
  std::size_t executable_bytes = 0;
  std::vector<int> recorded;  ///< in the order of recording: descending
  std::vector<int> disabled;  ///< by recording or self-test, now or before
  /// Recordings that something outside the library ended and that were made once more.
  std::uint64_t retried = 0;
};

/// What GraphPool::self_test_next() found.
struct SelfTestResult {
  int rows = 0;
  std::string variant = {};
  bool passed = false;
  std::string reason = {};  ///< why not
  double seconds = 0;
  std::size_t pending = 0;  ///< graphs that wait for their test still
};

/// How far a pool is, as a server's /ready tells it.
struct PoolReadiness {
  bool recorded = false;    ///< record() has succeeded: runs replay
  bool asleep = false;      ///< runs are refused until wake()
  std::size_t graphs = 0;   ///< recorded, over all sizes and variants
  std::size_t pending = 0;  ///< of these, served without a self-test so far
  /// Sizes that run eagerly because recording or self-test failed.
  std::vector<BucketReport> disabled = {};
  /// Recorded, awake, nothing left to test and nothing disabled.
  bool complete() const noexcept { return recorded && !asleep && pending == 0 && disabled.empty(); }
};

enum class PoolPhase : std::uint8_t { warm_up, record, self_test };
std::string_view to_string(PoolPhase phase) noexcept;

/// One size has passed a phase of record(), failed or not.
struct PoolProgress {
  PoolPhase phase = PoolPhase::warm_up;
  int rows = 0;
  std::string_view variant = {};
  std::size_t done = 0;  ///< graphs of this phase so far
  std::size_t of = 0;    ///< graphs of this phase
  double seconds = 0;    ///< that this one took
};

/// The executable graphs of a pool.
struct ExecutableCounters {
  std::size_t live = 0;            ///< now
  std::uint64_t instantiated = 0;  ///< made, also again after having been dropped
  std::uint64_t updated = 0;       ///< brought up to date in place by a repeated recording
  std::uint64_t shared = 0;        ///< recordings that joined the executable of another size
  std::uint64_t switched = 0;      ///< re-pointed to another size before a replay or test
  std::uint64_t dropped = 0;       ///< to make room below GraphPoolOptions::max_executables
  /// Replays that had to wait for an executable while more than half of the latest 64 had to.
  std::uint64_t thrashed = 0;
};

struct PoolCounters {
  std::uint64_t replays = 0;       ///< launches of graphs
  std::uint64_t fake_replays = 0;  ///< with RecordMode::fake; never among `replays`
  std::uint64_t eager_steps = 0;   ///< asked for, or fallen back to
  std::uint64_t padded_rows = 0;   ///< rows computed beyond the true ones
  /// Graphs that were recorded after record(), at their first use or by record_variant().
  std::uint64_t lazy_recordings = 0;
  std::uint64_t self_tests = 0;          ///< begun
  std::uint64_t self_test_failures = 0;  ///< each disabled its size
  std::array<std::uint64_t, kFallbackReasons> fallbacks{};
  std::uint64_t all_fallbacks() const noexcept;
  PoolCounters& operator+=(const PoolCounters& other) noexcept;
};

}  // namespace reprise
