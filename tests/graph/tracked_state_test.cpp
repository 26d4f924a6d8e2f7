// SPDX-License-Identifier: Apache-2.0
#include "graph/tracked_state.h"

#include <gtest/gtest.h>

#include <reprise/error.h>

namespace reprise {
namespace {

TEST(TrackedState, GoesWhereTheTableLeads) {
  TrackedState state;
  EXPECT_EQ(state.get(), RunState::cold);
  for (const RunState next : {RunState::warm, RunState::recording, RunState::recorded,
                              RunState::stale, RunState::stale, RunState::cold}) {
    state.set(next);
    EXPECT_EQ(state.get(), next);
  }
}

TEST(TrackedState, RefusesWhatTheTableDoesNot) {
  TrackedState state;
  EXPECT_THROW(state.set(RunState::recorded), Error);
  EXPECT_EQ(state.get(), RunState::cold);
  state.set(RunState::warm);
  state.set(RunState::recording);
  EXPECT_THROW(state.set(RunState::stale), Error);
  EXPECT_EQ(state.get(), RunState::recording);
}

// Giving up is always possible: what clears up after an exception must not throw.
TEST(TrackedState, ColdIsReachedFromEverywhereButLost) {
  for (const RunState from :
       {RunState::cold, RunState::warm, RunState::recording, RunState::recorded, RunState::asleep,
        RunState::stale, RunState::disabled}) {
    EXPECT_TRUE(from == RunState::cold || can_transition(from, RunState::cold)) << to_string(from);
  }
}

}  // namespace
}  // namespace reprise
