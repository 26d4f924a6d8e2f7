// SPDX-License-Identifier: Apache-2.0
#include "memory/free_list.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace reprise {
namespace {

auto rank(BlockRef block) {
  return std::tuple(block->bytes, block->segment->number, block->offset);
}

bool before(BlockRef left, BlockRef right) { return rank(left) < rank(right); }

}  // namespace

void FreeList::make_room_for_one_more() {
  if (index_.capacity() > block_count_) return;
  index_.reserve(std::max<std::size_t>(16, 2 * (block_count_ + 1)));
}

void FreeList::count_split(const Segment& segment) noexcept {
  if (segment.wholly_free()) return;
  split_.blocks += segment.free_blocks;
  split_.bytes += segment.free_bytes;
}

void FreeList::discount_split(const Segment& segment) noexcept {
  if (segment.wholly_free()) return;
  split_.blocks -= segment.free_blocks;
  split_.bytes -= segment.free_bytes;
}

void FreeList::enter(BlockRef block) noexcept {
  index_.insert(std::upper_bound(index_.begin(), index_.end(), block, before), block);
  block->segment->free_blocks += 1;
  block->segment->free_bytes += block->bytes;
}

void FreeList::withdraw(BlockRef block) noexcept {
  index_.erase(std::lower_bound(index_.begin(), index_.end(), block, before));
  block->segment->free_blocks -= 1;
  block->segment->free_bytes -= block->bytes;
}

Segment& FreeList::add_segment(std::byte* data, std::size_t bytes) {
  make_room_for_one_more();
  std::list<Segment> added(1);
  Segment& segment = added.front();
  segment.number = next_number_;
  segment.data = data;
  segment.bytes = bytes;
  segment.blocks.push_back({.segment = &segment, .offset = 0, .bytes = bytes});
  // Nothing throws from here on.
  ++next_number_;
  ++block_count_;
  segments_.splice(segments_.end(), added);
  enter(segment.blocks.begin());
  return segment;
}

void FreeList::extend_segment(Segment& segment, std::size_t bytes) {
  make_room_for_one_more();
  const BlockRef last = std::prev(segment.blocks.end());
  std::list<Block> added;
  if (last->allocated) added.push_back({.segment = &segment, .offset = segment.bytes});
  // Nothing throws from here on.
  discount_split(segment);
  if (last->allocated) {
    segment.blocks.splice(segment.blocks.end(), added);
    ++block_count_;
  } else {
    withdraw(last);
  }
  segment.bytes += bytes;
  const BlockRef tail = std::prev(segment.blocks.end());
  tail->bytes += bytes;
  enter(tail);
  count_split(segment);
}

SegmentRef FreeList::remove_segment(SegmentRef segment) noexcept {
  withdraw(segment->blocks.begin());
  --block_count_;
  return segments_.erase(segment);
}

std::optional<BlockRef> FreeList::take(std::size_t bytes) {
  make_room_for_one_more();
  const auto found = std::lower_bound(
      index_.begin(), index_.end(), bytes,
      [](BlockRef candidate, std::size_t wanted) { return candidate->bytes < wanted; });
  if (found == index_.end()) return std::nullopt;
  const BlockRef block = *found;
  Segment& segment = *block->segment;
  std::list<Block> rest;
  if (block->bytes > bytes) {
    rest.push_back(
        {.segment = &segment, .offset = block->offset + bytes, .bytes = block->bytes - bytes});
  }
  // Nothing throws from here on.
  discount_split(segment);
  withdraw(block);
  block->bytes = bytes;
  block->allocated = true;
  if (!rest.empty()) {
    const BlockRef remainder = rest.begin();
    segment.blocks.splice(std::next(block), rest);
    ++block_count_;
    enter(remainder);
  }
  count_split(segment);
  return block;
}

void FreeList::merge_with_next(BlockRef block) noexcept {
  const BlockRef next = std::next(block);
  block->bytes += next->bytes;
  block->segment->blocks.erase(next);
  --block_count_;
}

void FreeList::give_back(BlockRef block) noexcept {
  Segment& segment = *block->segment;
  discount_split(segment);
  block->allocated = false;
  block->requested = 0;
  block->label.clear();
  if (const BlockRef next = std::next(block); next != segment.blocks.end() && !next->allocated) {
    withdraw(next);
    merge_with_next(block);
  }
  if (block != segment.blocks.begin() && !std::prev(block)->allocated) {
    block = std::prev(block);
    withdraw(block);
    merge_with_next(block);
  }
  enter(block);
  count_split(segment);
}

}  // namespace reprise
