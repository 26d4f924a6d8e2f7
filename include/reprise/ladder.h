// SPDX-License-Identifier: Apache-2.0
// Which batch sizes to record: the sizes of a pool of graphs, its ladder. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise {

/// 1, 2, 4, 8, then by 8 to 256, then by 16; always ends at `max_rows`. Throws UsageError below 1.
std::vector<int> default_ladder(int max_rows);

/// A ladder made for the batches that were seen.
struct LadderProposal {
  std::vector<int> sizes;         ///< ascending
  std::uint64_t true_rows = 0;    ///< rows of all batches seen
  std::uint64_t padded_rows = 0;  ///< rows that these sizes compute beyond them
};

/// The ladder of at most `graphs` sizes that pads the seen batches least; of equally good ones one
/// with the fewest sizes. `batches[i]` counts the batches of i + 1 rows, so its length is the most
/// rows there may be, and the last size: any batch finds room. Exact, by dynamic programming in
/// O(graphs × different sizes seen²). Throws UsageError where `graphs` is below 1, `batches` is
/// empty, or its rows, each padded to the last size, are 2^64 or more.
LadderProposal propose_ladder(std::span<const std::uint64_t> batches, int graphs);

}  // namespace reprise
