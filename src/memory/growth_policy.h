// SPDX-License-Identifier: Apache-2.0
// How much to take from the upstream, and when not to. Pure arithmetic.
#pragma once

#include <cstddef>
#include <optional>

namespace reprise {

/// Blocks are multiples of this and aligned to it.
inline constexpr std::size_t kBlockBytes = 512;

/// `bytes` rounded up to whole blocks, at least one; nullopt where that is not representable.
std::optional<std::size_t> round_to_blocks(std::size_t bytes) noexcept;

class GrowthPolicy {
 public:
  /// `limit_bytes` 0: no limit. All sizes are multiples of `granularity`, a power of two. Throws
  /// UsageError for a segment size of 0 or beyond reason.
  GrowthPolicy(std::size_t segment_bytes, std::size_t limit_bytes, std::size_t granularity = 1);

  /// Bytes of the segment to take for a block of `block_bytes` while `reserved` bytes are held: the
  /// usual size, the block's own size where that is larger, or what the limit leaves where that is
  /// less and still holds the block. nullopt: the limit forbids it.
  std::optional<std::size_t> segment_for(std::size_t block_bytes,
                                         std::size_t reserved) const noexcept;

  /// Bytes by which to lengthen a segment that ends in `free_tail` free bytes, fewer than the
  /// block's: what is missing, in whole usual sizes so that small steps don't add up to many. The
  /// limit as above.
  std::optional<std::size_t> extension_for(std::size_t block_bytes, std::size_t free_tail,
                                           std::size_t reserved) const noexcept;

  std::size_t limit_bytes() const noexcept { return limit_bytes_; }

 private:
  /// `usual`, or the most that the limit leaves where that still holds `least`.
  std::optional<std::size_t> within_limit(std::size_t usual, std::size_t least,
                                          std::size_t reserved) const noexcept;

  std::size_t unit_;
  std::size_t segment_bytes_;
  std::size_t limit_bytes_;
};

}  // namespace reprise
