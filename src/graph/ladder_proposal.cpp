// SPDX-License-Identifier: Apache-2.0
// A size is worth recording only if batches of exactly that many rows were seen (a smaller one
// serves the same batches with less padding), or if it is the last. So the choice is among those
// sizes s[0] < … < s[m-1], and
//   least[k][j] = min over i < j of least[k-1][i] + padding(i, j),
// where padding(i, j) is what the batches above s[i] and up to s[j] cost when padded to s[j]. With
// the batches and the rows up to each size summed beforehand, padding(i, j) takes two subtractions.
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/ladder.h>

namespace reprise {
namespace {

/// The sizes to choose from, with sums over all batches of at most so many rows.
struct Candidate {
  int size;
  std::uint64_t batches;
  std::uint64_t rows;
};

std::vector<Candidate> candidates(std::span<const std::uint64_t> batches) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / batches.size();
  std::vector<Candidate> result;
  Candidate sum{};
  for (std::size_t i = 0; i < batches.size(); ++i) {
    sum.size = static_cast<int>(i + 1);
    if (batches[i] > most - sum.batches) {
      throw UsageError("a ladder's histogram has more rows than can be counted; scale it down");
    }
    sum.batches += batches[i];
    sum.rows += batches[i] * (i + 1);
    if (batches[i] > 0 || i + 1 == batches.size()) result.push_back(sum);
  }
  return result;
}

std::uint64_t padding(const Candidate& below, const Candidate& size) {
  return (size.batches - below.batches) * static_cast<std::uint64_t>(size.size) -
         (size.rows - below.rows);
}

/// One row of the table: the least padding of all batches up to each candidate, if it is recorded.
struct Level {
  std::vector<std::uint64_t> least;
  std::vector<std::size_t> previous;  ///< the recorded candidate below it
};

Level first_level(const std::vector<Candidate>& from) {
  Level level{.least = {}, .previous = std::vector<std::size_t>(from.size(), 0)};
  for (const Candidate& size : from) level.least.push_back(padding({}, size));
  return level;
}

Level next_level(const std::vector<Candidate>& from, const Level& below) {
  Level level = below;
  for (std::size_t j = 1; j < from.size(); ++j) {
    level.least[j] = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < j; ++i) {
      const std::uint64_t all = below.least[i] + padding(from[i], from[j]);
      if (all >= level.least[j]) continue;
      level.least[j] = all;
      level.previous[j] = i;
    }
  }
  return level;
}

}  // namespace

LadderProposal propose_ladder(std::span<const std::uint64_t> batches, int graphs) {
  if (graphs < 1) {
    throw UsageError(fmt::format("a ladder needs at least 1 graph, got {}", graphs));
  }
  if (batches.empty() || batches.size() > std::numeric_limits<int>::max()) {
    throw UsageError(
        fmt::format("a ladder's histogram counts batches of 1 row, of 2, and so on; got {} counts",
                    batches.size()));
  }
  const std::vector<Candidate> from = candidates(batches);
  const std::size_t last = from.size() - 1;
  std::vector<Level> levels{first_level(from)};
  while (levels.back().least[last] > 0 && levels.size() < static_cast<std::size_t>(graphs) &&
         levels.size() < from.size()) {
    Level next = next_level(from, levels.back());
    if (next.least[last] >= levels.back().least[last]) break;
    levels.push_back(std::move(next));
  }
  LadderProposal result{
      .sizes = {}, .true_rows = from[last].rows, .padded_rows = levels.back().least[last]};
  std::size_t at = last;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    result.sizes.insert(result.sizes.begin(), from[at].size);
    at = level->previous[at];
  }
  return result;
}

}  // namespace reprise
