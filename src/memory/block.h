// SPDX-License-Identifier: Apache-2.0
// The pieces a pool is made of: segments taken from the upstream, each cut into blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>

namespace reprise {

struct Segment;

struct Block {
  Segment* segment = nullptr;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  bool allocated = false;
  std::size_t requested = 0;  ///< bytes as asked for; 0 while free
  std::string label = {};     ///< owner; "" while free
};
using BlockRef = std::list<Block>::iterator;

struct Segment {
  std::uint64_t number = 0;  ///< in order of growth: decides between equals, addresses do not
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  void* upstream_data = nullptr;   ///< as the upstream gave it: `data` may be aligned up from it
  std::size_t upstream_bytes = 0;  ///< as the upstream counts it
  bool recorded = false;           ///< a recording has used it (memory/recording_order.h)
  std::list<Block> blocks;         ///< by offset, without gaps
  std::size_t free_blocks = 0;
  std::size_t free_bytes = 0;

  /// Free bytes at its end.
  std::size_t free_tail() const noexcept {
    return blocks.back().allocated ? 0 : blocks.back().bytes;
  }
  bool wholly_free() const noexcept { return free_bytes == bytes; }
};
using SegmentRef = std::list<Segment>::iterator;

}  // namespace reprise
