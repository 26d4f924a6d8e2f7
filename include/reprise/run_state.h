// SPDX-License-Identifier: Apache-2.0
// The states of a runner, and of each bucket of a pool: one enum, its transitions, and what a
// replay does in each (DESIGN §4.7); and what recording makes.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise {

/// What recording makes of a step.
enum class RecordMode : std::uint8_t {
  graphs,  ///< executable graphs: a replay launches one
  /// No graph: a replay calls the step function in phase `recording`, and what it enqueues runs.
  /// All else is as with graphs: buckets, padding, static buffers, scratch addresses, lane, checks,
  /// states, refusals of the runner or pool. For a debugger or a sanitizer, which can step through
  /// this path, and to find out whether a fault is the graph's or the step's. What only a recording
  /// itself refuses (a wait inside the step, an empty step, an unjoined stream) passes here.
  fake,
  /// Graphs, each replay of which goes by debug_replay() (<reprise/debug_replay.h>): it is waited
  /// for, and where it fails, the error names the node. Far slower than a replay should be.
  debug,
};

enum class RunState : std::uint8_t {
  cold,       ///< nothing prepared; replay is an error (runner) or runs eagerly (pool)
  warm,       ///< warmed up, not recorded; as cold
  recording,  ///< being recorded; entry is refused
  recorded,   ///< ready: replay replays
  asleep,     ///< physical memory given back; replay is refused until awake
  stale,      ///< a bound buffer moved; replay is refused until reset and recorded again
  disabled,   ///< recording or self-test failed; error (runner) or runs eagerly (pool)
  lost,       ///< the device is lost; everything is refused
};

std::string_view to_string(RunState state) noexcept;

/// Whether the table of transitions has an edge from `from` to `to`.
bool can_transition(RunState from, RunState to) noexcept;

/// What a pool does when asked to run a size in a state.
enum class ReplayAnswer : std::uint8_t { replays, runs_eagerly, refuses };
ReplayAnswer answer_in(RunState state) noexcept;

}  // namespace reprise
