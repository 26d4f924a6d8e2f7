// SPDX-License-Identifier: Apache-2.0
#include "device/launch_lint.h"

#include <array>

#include <gtest/gtest.h>

namespace reprise {
namespace {

std::array<std::byte, 100> memory;

KeptRange bytes(std::size_t first, std::size_t count) {
  return {.data = memory.data() + first, .bytes = count, .label = {}};
}

/// A graph that writes [10, 20), [15, 18), [30, 40) and [50, 50), in no order and partly in a body,
/// and has one kernel that reads `range` before its wait.
std::optional<std::string> fault_of(const KeptRange& range) {
  std::vector<NodeInfo> nodes(3);
  nodes[0].declared.writes = {bytes(30, 10), bytes(10, 10), bytes(50, 0)};
  nodes[1].kind = NodeKind::conditional;
  nodes[1].bodies.resize(1);
  nodes[1].bodies[0].resize(1);
  nodes[1].bodies[0][0].declared.writes = {bytes(15, 3)};
  nodes[2].declared.programmatic = true;
  nodes[2].declared.waits = true;
  nodes[2].declared.prefetches = {range};
  return launch_fault(nodes);
}

TEST(LaunchLint, FindsAPrefetchThatMeetsAWrite) {
  for (const KeptRange& range :
       {bytes(0, 11), bytes(19, 1), bytes(12, 2), bytes(0, 100), bytes(20, 11), bytes(39, 20)}) {
    EXPECT_TRUE(fault_of(range).has_value()) << range.data - memory.data();
  }
}

TEST(LaunchLint, TakesAPrefetchBetweenWrites) {
  for (const KeptRange& range :
       {bytes(0, 10), bytes(20, 10), bytes(40, 60), bytes(15, 0), bytes(50, 1)}) {
    EXPECT_EQ(fault_of(range), std::nullopt) << range.data - memory.data();
  }
}

// A library's kernel declares no more than its wait; the edge tells that it starts early.
TEST(LaunchLint, AKernelBehindAProgrammaticEdgeIsHeldToItsPrefetches) {
  std::vector<NodeInfo> nodes(2);
  nodes[0].declared.writes = {bytes(0, 10)};
  nodes[1].dependencies = {0};
  nodes[1].programmatic = {0};
  nodes[1].declared.waits = true;
  nodes[1].declared.prefetches = {bytes(5, 1)};
  EXPECT_TRUE(launch_fault(nodes).has_value());
  nodes[1].programmatic.clear();
  EXPECT_EQ(launch_fault(nodes), std::nullopt);
}

TEST(LaunchLint, NamesAKernelOfABodyThatDoesNotWait) {
  std::vector<NodeInfo> nodes(2);
  nodes[0].kind = NodeKind::conditional;
  nodes[0].bodies.resize(1);
  nodes[0].bodies[0].resize(1);
  nodes[0].bodies[0][0].declared.programmatic = true;
  const auto fault = launch_fault(nodes);
  ASSERT_TRUE(fault.has_value());
  EXPECT_TRUE(fault->starts_with("node 0 in a body of node 0 (kernel")) << *fault;
}

}  // namespace
}  // namespace reprise
