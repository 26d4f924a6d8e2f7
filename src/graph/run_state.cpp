// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/run_state.h>

#include "graph/tracked_state.h"

namespace reprise {
namespace {

constexpr std::size_t kStates = 8;

constexpr std::size_t index(RunState state) { return static_cast<std::size_t>(state); }

// One row per state: its name, what a pool does in it, and where it may go.
struct Row {
  std::string_view name;
  ReplayAnswer answer;
  std::array<bool, kStates> next;  // in the order of the enum
};

constexpr bool o = false;
constexpr bool x = true;
constexpr std::array<Row, kStates> kTable{{
    //                                            cold warm rec. red  asl. stale dis. lost
    {"cold", ReplayAnswer::runs_eagerly, {o, x, o, o, x, o, x, x}},
    {"warm", ReplayAnswer::runs_eagerly, {x, o, x, o, o, o, o, x}},
    {"recording", ReplayAnswer::refuses, {x, o, o, x, o, o, x, x}},
    {"recorded", ReplayAnswer::replays, {x, o, o, o, x, x, x, x}},
    {"asleep", ReplayAnswer::refuses, {x, o, o, x, o, x, x, x}},
    {"stale", ReplayAnswer::refuses, {x, o, o, o, x, o, o, x}},
    {"disabled", ReplayAnswer::runs_eagerly, {x, o, o, o, x, o, o, x}},
    {"lost", ReplayAnswer::refuses, {o, o, o, o, o, o, o, o}},
}};

}  // namespace

std::string_view to_string(RunState state) noexcept { return kTable[index(state)].name; }

bool can_transition(RunState from, RunState to) noexcept {
  return kTable[index(from)].next[index(to)];
}

ReplayAnswer answer_in(RunState state) noexcept { return kTable[index(state)].answer; }

void TrackedState::set(RunState to) {
  if (to == state_) return;
  if (!can_transition(state_, to)) {
    throw Error(fmt::format("a fault of Reprise: no way leads from {} to {}; please report it",
                            to_string(state_), to_string(to)));
  }
  state_ = to;
}

}  // namespace reprise
