// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <reprise/error.h>
#include <reprise/ladder.h>

namespace reprise {
namespace {

using Histogram = std::vector<std::uint64_t>;

std::uint64_t padding(const Histogram& batches, const std::vector<int>& sizes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const int rows = static_cast<int>(i + 1);
    const auto size = std::lower_bound(sizes.begin(), sizes.end(), rows);
    sum += batches[i] * static_cast<std::uint64_t>(*size - rows);
  }
  return sum;
}

/// The least padding over every ladder of at most `graphs` sizes that ends at the most rows.
std::uint64_t least_padding(const Histogram& batches, int graphs) {
  const auto most = static_cast<unsigned>(batches.size());
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (unsigned chosen = 0; chosen < 1u << (most - 1); ++chosen) {
    std::vector<int> sizes;
    for (unsigned bit = 0; bit + 1 < most; ++bit) {
      if ((chosen >> bit & 1) != 0) sizes.push_back(static_cast<int>(bit + 1));
    }
    sizes.push_back(static_cast<int>(most));
    if (static_cast<int>(sizes.size()) <= graphs) {
      least = std::min(least, padding(batches, sizes));
    }
  }
  return least;
}

RC_GTEST_PROP(LadderProposal, IsTheBestOfAllLadders, ()) {
  const auto most = *rc::gen::inRange<std::size_t>(1, 11);
  const auto batches = *rc::gen::container<Histogram>(most, rc::gen::inRange<std::uint64_t>(0, 20));
  const int graphs = *rc::gen::inRange(1, 12);
  const LadderProposal proposal = propose_ladder(batches, graphs);
  RC_ASSERT(std::is_sorted(proposal.sizes.begin(), proposal.sizes.end()));
  RC_ASSERT(std::adjacent_find(proposal.sizes.begin(), proposal.sizes.end()) ==
            proposal.sizes.end());
  RC_ASSERT(static_cast<int>(proposal.sizes.size()) <= graphs);
  RC_ASSERT(proposal.sizes.back() == static_cast<int>(most));
  RC_ASSERT(proposal.padded_rows == padding(batches, proposal.sizes));
  RC_ASSERT(proposal.padded_rows == least_padding(batches, graphs));
  // No ladder of fewer sizes is as good.
  if (proposal.sizes.size() > 1) {
    const auto fewer = static_cast<int>(proposal.sizes.size()) - 1;
    RC_ASSERT(least_padding(batches, fewer) > proposal.padded_rows);
  }
}

TEST(LadderProposal, CountsRows) {
  const LadderProposal proposal = propose_ladder(Histogram{0, 10, 0, 0, 1, 0, 0, 1}, 2);
  EXPECT_EQ(proposal.sizes, (std::vector<int>{2, 8}));
  EXPECT_EQ(proposal.true_rows, 33u);
  EXPECT_EQ(proposal.padded_rows, 3u);
}

TEST(LadderProposal, NothingSeenNeedsOneSize) {
  EXPECT_EQ(propose_ladder(Histogram(64, 0), 8).sizes, std::vector<int>{64});
}

TEST(LadderProposal, RefusesNonsense) {
  EXPECT_THROW(propose_ladder(Histogram{1}, 0), UsageError);
  EXPECT_THROW(propose_ladder(Histogram{}, 1), UsageError);
  EXPECT_THROW(propose_ladder(Histogram{1, std::numeric_limits<std::uint64_t>::max()}, 1),
               UsageError);
  EXPECT_NO_THROW(propose_ladder(Histogram{0, std::numeric_limits<std::uint64_t>::max() / 2}, 1));
}

}  // namespace
}  // namespace reprise
