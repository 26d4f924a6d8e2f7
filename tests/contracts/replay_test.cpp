// SPDX-License-Identifier: Apache-2.0
// Recording executes nothing, replay does, and in order (DESIGN §4.1).
#include <chrono>

#include "contracts/fixture.h"

namespace reprise::contract {
namespace {

class Replay : public RecordingTest {};

TEST_F(Replay, RecordingExecutesNothingAndReplayDoes) {
  Buffer x = floats(1);
  const Graph graph = capture(main_, [&] { add(main_, x, 2); });
  EXPECT_EQ(value_of(x), 1);
  EXPECT_EQ(graph.node_count(), 1u);
  GraphExec exec = graph.instantiate();
  exec.upload(main_);
  EXPECT_EQ(value_of(x), 1);
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 3);
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 5);
}

TEST_F(Replay, EagerWorkIsAsynchronous) {
  Buffer x = floats(1);
  Gate gate(*kit_, *device_, main_);
  add(main_, x, 1);
  EXPECT_FALSE(main_.query());
  gate.open();
  main_.synchronize();
  EXPECT_TRUE(main_.query());
  EXPECT_EQ(value_of(x), 2);
}

}  // namespace
}  // namespace reprise::contract
