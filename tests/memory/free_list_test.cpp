// SPDX-License-Identifier: Apache-2.0
// The free list against a naive model that scans everything.
#include "memory/free_list.h"

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace reprise {
namespace {

/// Where a block lies: number of its segment and offset.
using Place = std::pair<std::uint64_t, std::size_t>;

Place place_of(BlockRef block) { return {block->segment->number, block->offset}; }

/// One byte per unit of 512: taken or not. Slow and obvious.
class NaiveModel {
 public:
  void add_segment(std::uint64_t number, std::size_t bytes) {
    segments_.push_back({number, std::vector<bool>(bytes / kUnit, false)});
  }
  void remove_segment(std::uint64_t number) {
    std::erase_if(segments_, [&](const auto& segment) { return segment.first == number; });
  }
  std::optional<Place> take(std::size_t bytes) {
    std::optional<std::tuple<std::size_t, std::uint64_t, std::size_t>> best;
    for (const auto& [number, runs] : free_runs()) {
      for (const auto& [offset, length] : runs) {
        if (length < bytes) continue;
        const std::tuple candidate(length, number, offset);
        if (!best || candidate < *best) best = candidate;
      }
    }
    if (!best) return std::nullopt;
    const Place place{std::get<1>(*best), std::get<2>(*best)};
    mark(place, bytes, true);
    return place;
  }
  void give_back(Place place, std::size_t bytes) { mark(place, bytes, false); }

  using Runs = std::vector<std::pair<std::size_t, std::size_t>>;
  /// Per segment, the longest stretches of free bytes: offset and length.
  std::vector<std::pair<std::uint64_t, Runs>> free_runs() const {
    std::vector<std::pair<std::uint64_t, Runs>> all;
    for (const auto& [number, taken] : segments_) {
      Runs runs;
      for (std::size_t unit = 0; unit < taken.size(); ++unit) {
        if (taken[unit]) continue;
        if (unit == 0 || taken[unit - 1]) runs.emplace_back(unit * kUnit, 0);
        runs.back().second += kUnit;
      }
      all.emplace_back(number, runs);
    }
    return all;
  }
  bool wholly_free(std::uint64_t number) const {
    for (const auto& [candidate, taken] : segments_) {
      if (candidate == number) return std::ranges::count(taken, true) == 0;
    }
    return false;
  }

 private:
  static constexpr std::size_t kUnit = 512;
  void mark(Place place, std::size_t bytes, bool value) {
    for (auto& [number, taken] : segments_) {
      if (number != place.first) continue;
      for (std::size_t unit = 0; unit < bytes / kUnit; ++unit) {
        ASSERT_NE(taken[place.second / kUnit + unit], value) << "overlap";
        taken[place.second / kUnit + unit] = value;
      }
    }
  }
  std::vector<std::pair<std::uint64_t, std::vector<bool>>> segments_;
};

/// Blocks cover each segment without gaps, free neighbours are merged, and free blocks and counts
/// are the model's.
void expect_same(const FreeList& list, const NaiveModel& model) {
  std::vector<std::pair<std::uint64_t, NaiveModel::Runs>> free;
  SplitTotals split;
  std::size_t largest = 0;
  for (const Segment& segment : list.segments()) {
    NaiveModel::Runs runs;
    std::size_t end = 0;
    bool free_before = false;
    for (const Block& block : segment.blocks) {
      ASSERT_EQ(block.offset, end);
      ASSERT_EQ(block.segment, &segment);
      ASSERT_FALSE(free_before && !block.allocated) << "free neighbours at " << block.offset;
      free_before = !block.allocated;
      end += block.bytes;
      if (!block.allocated) {
        runs.emplace_back(block.offset, block.bytes);
        largest = std::max(largest, block.bytes);
      }
    }
    ASSERT_EQ(end, segment.bytes);
    ASSERT_EQ(segment.free_blocks, runs.size());
    ASSERT_EQ(segment.wholly_free(), model.wholly_free(segment.number));
    if (!segment.wholly_free()) {
      split.blocks += segment.free_blocks;
      split.bytes += segment.free_bytes;
    }
    free.emplace_back(segment.number, runs);
  }
  ASSERT_EQ(free, model.free_runs());
  ASSERT_EQ(list.largest_free(), largest);
  ASSERT_EQ(list.split().blocks, split.blocks);
  ASSERT_EQ(list.split().bytes, split.bytes);
}

/// Runs a seeded sequence of requests; returns where each block was placed.
std::vector<Place> run_random_sequence(unsigned seed, int operations, bool compare,
                                       std::byte* base) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  FreeList list;
  NaiveModel model;
  std::vector<BlockRef> held;
  std::vector<Place> places;
  const auto add_segment = [&] {
    const std::size_t bytes = 512 * (1 + below(256));
    model.add_segment(list.add_segment(base, bytes).number, bytes);
  };
  add_segment();
  for (int step = 0; step < operations; ++step) {
    const auto kind = below(100);
    if (kind < 52) {
      const std::size_t bytes = 512 * (1 + below(below(8) == 0 ? 96 : 12));
      const auto block = list.take(bytes);
      const auto expected = model.take(bytes);
      EXPECT_EQ(block.has_value(), expected.has_value());
      if (block) {
        EXPECT_EQ(place_of(*block), *expected);
        EXPECT_EQ((*block)->bytes, bytes);
        held.push_back(*block);
        places.push_back(place_of(*block));
      } else if (list.segments().size() < 12) {
        add_segment();
      }
    } else if (kind < 98 && !held.empty()) {
      std::swap(held[below(held.size())], held.back());
      model.give_back(place_of(held.back()), held.back()->bytes);
      list.give_back(held.back());
      held.pop_back();
    } else {
      for (SegmentRef segment = list.segments().begin(); segment != list.segments().end();) {
        if (!segment->wholly_free()) {
          ++segment;
          continue;
        }
        model.remove_segment(segment->number);
        segment = list.remove_segment(segment);
      }
    }
    if (compare && step % 8 == 0) expect_same(list, model);  // placement is compared each time
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed << ", operation " << step;
      return places;
    }
  }
  return places;
}

class FreeListProperty : public ::testing::TestWithParam<unsigned> {};

TEST_P(FreeListProperty, AgreesWithTheNaiveModel) {
  std::byte base{};
  const auto places = run_random_sequence(GetParam(), 10'000, true, &base);
  EXPECT_GT(places.size(), 3'000u);
}

TEST_P(FreeListProperty, PlacesDependOnTheSequenceAloneNotOnAddresses) {
  std::byte bases[2]{};
  EXPECT_EQ(run_random_sequence(GetParam(), 2'000, false, &bases[0]),
            run_random_sequence(GetParam(), 2'000, false, &bases[1]));
}

INSTANTIATE_TEST_SUITE_P(Seeds, FreeListProperty, ::testing::Values(1u, 2u, 3u, 20260u));

TEST(FreeList, TakesTheSmallestThatFitsThenTheOldestThenTheLowest) {
  std::byte base{};
  FreeList list;
  list.add_segment(&base, 4096);
  list.add_segment(&base, 1024);
  list.add_segment(&base, 1024);
  EXPECT_EQ(place_of(*list.take(1024)), Place(1, 0));
  EXPECT_EQ(place_of(*list.take(512)), Place(2, 0));
  EXPECT_EQ(place_of(*list.take(1024)), Place(0, 0));
  EXPECT_EQ(place_of(*list.take(512)), Place(2, 512));
  EXPECT_EQ(list.take(4096), std::nullopt);
  EXPECT_EQ(list.largest_free(), 3072u);
}

TEST(FreeList, ABlockGivenBackBetweenTwoFreeOnesMakesOne) {
  std::byte base{};
  FreeList list;
  list.add_segment(&base, 2048);
  const BlockRef first = *list.take(512);
  const BlockRef second = *list.take(512);
  list.give_back(first);
  EXPECT_EQ(list.split().blocks, 2u);
  EXPECT_EQ(list.split().bytes, 1536u);
  list.give_back(second);
  EXPECT_EQ(list.segments().front().blocks.size(), 1u);
  EXPECT_TRUE(list.segments().front().wholly_free());
  EXPECT_EQ(list.split().blocks, 0u);
}

}  // namespace
}  // namespace reprise
