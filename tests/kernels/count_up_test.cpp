// SPDX-License-Identifier: Apache-2.0
// The smallest kernel, and what operations are called in a recording.
#include <gtest/gtest.h>

#include <reprise/graph.h>

#include "kernels/ops.h"
#include "kernels/support/world.h"

namespace reprise::testing {
namespace {

TEST(CountUp, IsOneNodeThatAddsOne) {
  World world;
  for (const bool fast : {false, true}) {
    const auto primitives =
        fast ? make_simd_primitives(world.device()) : make_reference_primitives(world.device());
    std::uint32_t counter = 5;
    const Graph graph =
        capture(world.stream(), [&] { primitives->count_up(&counter, world.stream()); });
    EXPECT_EQ(graph.node_count(), 1u);
    EXPECT_EQ(graph.nodes().at(0).label, "count_up");
    primitives->count_up(&counter, world.stream());
    primitives->count_up(&counter, world.stream());
    world.stream().synchronize();
    EXPECT_EQ(counter, 7u);  // the recorded one did not run
  }
}

TEST(KernelFallbacks, ThereAreNoneOnTheHost) {
  World world;
  EXPECT_TRUE(make_ops(world.device())->kernel_fallbacks().empty());
}

}  // namespace
}  // namespace reprise::testing
