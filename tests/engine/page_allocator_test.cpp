// SPDX-License-Identifier: Apache-2.0
#include "engine/page_allocator.h"

#include <set>

#include <gtest/gtest.h>

#include <reprise/error.h>

namespace reprise {
namespace {

TEST(PageAllocator, NeverHandsOutTheSinkAndTakesTheLowestFirst) {
  PageAllocator pages(5);
  EXPECT_EQ(pages.available(), 4);
  for (std::int32_t expected = 1; expected < 5; ++expected) EXPECT_EQ(pages.allocate(), expected);
  EXPECT_EQ(pages.allocate(), std::nullopt);
  pages.free(3);
  pages.free(2);
  EXPECT_EQ(pages.allocate(), 2);
}

TEST(PageAllocator, RefusesPagesThatAreNotOut) {
  PageAllocator pages(4);
  EXPECT_THROW(pages.free(0), UsageError);
  EXPECT_THROW(pages.free(1), UsageError);
  EXPECT_THROW(pages.free(4), UsageError);
  EXPECT_THROW(pages.free(-1), UsageError);
  const std::int32_t page = *pages.allocate();
  pages.free(page);
  EXPECT_THROW(pages.free(page), UsageError);
  EXPECT_THROW(PageAllocator(1), UsageError);
}

TEST(PageAllocator, RandomUseKeepsEveryPageOnce) {
  PageAllocator pages(64);
  std::set<std::int32_t> out;
  std::uint32_t random = 7;
  for (int i = 0; i < 10000; ++i) {
    random = random * 1664525u + 1013904223u;
    if ((random >> 20) % 2 == 0) {
      const auto page = pages.allocate();
      ASSERT_EQ(page.has_value(), out.size() < 63);
      if (page) {
        ASSERT_TRUE(out.insert(*page).second);
      }
    } else if (!out.empty()) {
      const auto victim =
          std::next(out.begin(), (random >> 8) % static_cast<std::uint32_t>(out.size()));
      pages.free(*victim);
      out.erase(victim);
    }
    ASSERT_EQ(pages.available() + static_cast<std::int32_t>(out.size()), 63);
  }
}

}  // namespace
}  // namespace reprise
