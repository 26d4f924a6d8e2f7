// SPDX-License-Identifier: Apache-2.0
// Every pair of states: what the table has is made, what it does not have is refused. That public
// calls make all it has: tests/contracts/pool_states_test.cpp.
#include "graph/tracked_state.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/error.h>

namespace reprise {
namespace {

std::vector<RunState> all_states() {
  std::vector<RunState> states;
  for (int i = 0; i <= static_cast<int>(RunState::lost); ++i) {
    states.push_back(static_cast<RunState>(i));
  }
  return states;
}

/// A way through the table from cold.
std::vector<RunState> way_to(RunState goal) {
  std::vector<std::vector<RunState>> ways{{RunState::cold}};
  for (std::size_t i = 0; i < ways.size() && i < 1000; ++i) {
    if (ways[i].back() == goal) return ways[i];
    for (const RunState next : all_states()) {
      if (!can_transition(ways[i].back(), next)) continue;
      ways.push_back(ways[i]);
      ways.back().push_back(next);
    }
  }
  return {};
}

TEST(TrackedState, EveryPairGoesWhereTheTableLeadsAndNowhereElse) {
  for (const RunState from : all_states()) {
    const std::vector<RunState> way = way_to(from);
    ASSERT_FALSE(way.empty()) << to_string(from);
    for (const RunState to : all_states()) {
      TrackedState state;
      for (const RunState next : way) state.set(next);
      const std::string pair = std::string(to_string(from)) + " to " + std::string(to_string(to));
      if (from == to) {
        EXPECT_FALSE(can_transition(from, to)) << pair;
        EXPECT_NO_THROW(state.set(to)) << pair;  // staying is no transition
      } else if (can_transition(from, to)) {
        EXPECT_NO_THROW(state.set(to)) << pair;
        EXPECT_EQ(state.get(), to) << pair;
      } else {
        EXPECT_THROW(state.set(to), Error) << pair;
        EXPECT_EQ(state.get(), from) << pair;
      }
    }
  }
}

// The table itself, so that a change of it is meant.
TEST(TrackedState, TheTableIsThis) {
  const std::vector<std::string> expected{"cold: warm asleep disabled lost",
                                          "warm: cold recording lost",
                                          "recording: cold recorded disabled lost",
                                          "recorded: cold asleep stale disabled lost",
                                          "asleep: cold recorded stale disabled lost",
                                          "stale: cold asleep lost",
                                          "disabled: cold asleep lost",
                                          "lost:"};
  std::vector<std::string> table;
  for (const RunState from : all_states()) {
    table.push_back(std::string(to_string(from)) + ":");
    for (const RunState to : all_states()) {
      if (can_transition(from, to)) table.back() += " " + std::string(to_string(to));
    }
  }
  EXPECT_EQ(table, expected);
}

TEST(TrackedState, OnlyARecordedOneReplays) {
  for (const RunState state : all_states()) {
    const bool eager =
        state == RunState::cold || state == RunState::warm || state == RunState::disabled;
    EXPECT_EQ(answer_in(state), state == RunState::recorded ? ReplayAnswer::replays
                                : eager                     ? ReplayAnswer::runs_eagerly
                                                            : ReplayAnswer::refuses)
        << to_string(state);
  }
}

// Giving up is always possible: what clears up after an exception must not throw.
TEST(TrackedState, ColdIsReachedFromEverywhereButLost) {
  for (const RunState from : all_states()) {
    if (from == RunState::cold || from == RunState::lost) continue;
    EXPECT_TRUE(can_transition(from, RunState::cold)) << to_string(from);
  }
}

}  // namespace
}  // namespace reprise
