// SPDX-License-Identifier: Apache-2.0
// Giving back must not fail, so it may not allocate: counted by replacing operator new for this
// test program.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "memory/pool_core.h"
#include "memory/support/host_upstream.h"
#include "support/counting_new.h"

namespace reprise {
namespace {

TEST(PoolAllocation, GivingBackNeedsNoMemory) {
  PoolCore core({.name = "step", .segment_bytes = std::size_t{1} << 20, .limit_bytes = 0},
                std::make_shared<testing::HostUpstream>(), [] { return std::string("host:0"); });
  std::vector<void*> held;
  for (int i = 0; i < 400; ++i) held.push_back(core.allocate(1000, "scratch", nullptr).data);
  const auto give_back = [&] {
    // Every other one first: no two of them make one, so that the free list is at its longest.
    for (std::size_t first : {0u, 1u}) {
      for (std::size_t i = first; i < held.size(); i += 2) core.give_back(held[i], nullptr);
    }
  };
  EXPECT_EQ(test::allocations_in(give_back), 0);
  EXPECT_EQ(core.statistics().allocated_bytes.current, 0u);
  EXPECT_EQ(test::allocations_in([] { (void)std::make_unique<int>(1); }), 1);  // it does count
}

}  // namespace
}  // namespace reprise
