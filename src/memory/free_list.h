// SPDX-License-Identifier: Apache-2.0
// Which stretch serves a request. Pure bookkeeping: it never touches the memory it hands out.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <vector>

#include "memory/block.h"

namespace reprise {

/// Free memory inside segments that are in use.
struct SplitTotals {
  std::size_t blocks = 0;
  std::size_t bytes = 0;
};

/// Best fit: the smallest free block that holds the request; among equals the one in the oldest
/// segment, then at the lowest offset. So the answers depend on the sequence of calls alone, never
/// on addresses. Free neighbours are always merged. Not thread safe.
class FreeList {
 public:
  FreeList() = default;
  FreeList(const FreeList&) = delete;
  FreeList& operator=(const FreeList&) = delete;

  /// Adds a wholly free segment. Throws std::bad_alloc, then nothing has changed.
  Segment& add_segment(std::byte* data, std::size_t bytes);
  /// Lengthens a segment at its end by `bytes` of free memory. Throws std::bad_alloc, then nothing
  /// has changed.
  void extend_segment(Segment& segment, std::size_t bytes);
  /// Forgets a wholly free segment; returns the one after it.
  SegmentRef remove_segment(SegmentRef segment) noexcept;

  /// A block of exactly `bytes` (not 0), the rest of the free block split off; nullopt if no free
  /// block is large enough. Throws std::bad_alloc, then nothing has changed.
  std::optional<BlockRef> take(std::size_t bytes);
  /// Never allocates, so that owners can give back in destructors.
  void give_back(BlockRef block) noexcept;

  std::size_t largest_free() const noexcept { return index_.empty() ? 0 : index_.back()->bytes; }
  const SplitTotals& split() const noexcept { return split_; }
  std::list<Segment>& segments() noexcept { return segments_; }
  const std::list<Segment>& segments() const noexcept { return segments_; }

 private:
  void make_room_for_one_more();
  void enter(BlockRef block) noexcept;
  void withdraw(BlockRef block) noexcept;
  void merge_with_next(BlockRef block) noexcept;
  void count_split(const Segment& segment) noexcept;
  void discount_split(const Segment& segment) noexcept;

  std::list<Segment> segments_;
  std::uint64_t next_number_ = 0;
  std::size_t block_count_ = 0;
  /// Free blocks, ascending. Its capacity holds every block there is, so entering cannot throw.
  std::vector<BlockRef> index_;
  SplitTotals split_;
};

}  // namespace reprise
