// SPDX-License-Identifier: Apache-2.0
#include "memory/growth_policy.h"

#include <limits>

#include <gtest/gtest.h>

#include <reprise/error.h>

namespace reprise {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(RoundToBlocks, RoundsUpToWholeBlocksAndNeverToNone) {
  EXPECT_EQ(round_to_blocks(0), 512u);
  EXPECT_EQ(round_to_blocks(1), 512u);
  EXPECT_EQ(round_to_blocks(512), 512u);
  EXPECT_EQ(round_to_blocks(513), 1024u);
}

TEST(RoundToBlocks, RefusesWhatWouldOverflow) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(round_to_blocks(kMax), std::nullopt);
  EXPECT_EQ(round_to_blocks(kMax - 510), std::nullopt);
  EXPECT_EQ(round_to_blocks(kMax - 511), kMax - 511);
}

TEST(GrowthPolicy, TakesTheUsualSegmentForSmallRequestsAndTheirOwnSizeForLargeOnes) {
  const GrowthPolicy policy(2 * kMiB, 0);
  EXPECT_EQ(policy.segment_for(512, 0), 2 * kMiB);
  EXPECT_EQ(policy.segment_for(2 * kMiB, 40 * kMiB), 2 * kMiB);
  EXPECT_EQ(policy.segment_for(2 * kMiB + 512, 0), 2 * kMiB + 512);
}

TEST(GrowthPolicy, RoundsTheSegmentSizeToBlocks) {
  EXPECT_EQ(GrowthPolicy(1000, 0).segment_for(512, 0), 1024u);
}

TEST(GrowthPolicy, TakesWhatTheLimitLeavesIfThatIsEnough) {
  const GrowthPolicy policy(2 * kMiB, 3 * kMiB + 100);
  EXPECT_EQ(policy.segment_for(512, 0), 2 * kMiB);
  EXPECT_EQ(policy.segment_for(512, 2 * kMiB), kMiB);  // whole blocks only
  EXPECT_EQ(policy.segment_for(kMiB, 2 * kMiB), kMiB);
  EXPECT_EQ(policy.segment_for(kMiB + 512, 2 * kMiB), std::nullopt);
  EXPECT_EQ(policy.segment_for(512, 3 * kMiB), std::nullopt);
  EXPECT_EQ(policy.segment_for(512, 4 * kMiB), std::nullopt);
}

TEST(GrowthPolicy, RefusesASegmentSizeOfNothing) {
  EXPECT_THROW(GrowthPolicy(0, 0), UsageError);
  EXPECT_THROW(GrowthPolicy(std::numeric_limits<std::size_t>::max(), 0), UsageError);
}

TEST(GrowthPolicy, SizesAreWholeGranules) {
  const GrowthPolicy policy(3000, 0, 2048);
  EXPECT_EQ(policy.segment_for(512, 0), 4096u);
  EXPECT_EQ(policy.segment_for(4097 / 512 * 512 + 512, 0), 6144u);
  const GrowthPolicy limited(2048, 5000, 2048);
  EXPECT_EQ(limited.segment_for(2048, 2048), 2048u);
  EXPECT_EQ(limited.segment_for(2560, 2048), std::nullopt);  // would take two granules
}

TEST(GrowthPolicy, AnExtensionIsWhatIsMissingInWholeUsualSizes) {
  const GrowthPolicy policy(4096, 0);
  EXPECT_EQ(policy.extension_for(1024, 512, 0), 4096u);
  EXPECT_EQ(policy.extension_for(4608, 512, 0), 4096u);
  EXPECT_EQ(policy.extension_for(5120, 512, 0), 8192u);
  EXPECT_EQ(policy.extension_for(std::numeric_limits<std::size_t>::max(), 0, 0), std::nullopt);
  const GrowthPolicy limited(4096, 10'240);
  EXPECT_EQ(limited.extension_for(5120, 0, 4096), 6144u);  // less than usual, but enough
  EXPECT_EQ(limited.extension_for(6656, 0, 4096), std::nullopt);
  EXPECT_EQ(limited.extension_for(6656, 512, 4096), 6144u);
}

}  // namespace
}  // namespace reprise
