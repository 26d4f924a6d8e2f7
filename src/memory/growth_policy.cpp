// SPDX-License-Identifier: Apache-2.0
#include "memory/growth_policy.h"

#include <algorithm>
#include <limits>
#include <string>

#include <reprise/error.h>

namespace reprise {

std::optional<std::size_t> round_to_blocks(std::size_t bytes) noexcept {
  if (bytes == 0) return kBlockBytes;
  if (bytes > std::numeric_limits<std::size_t>::max() - (kBlockBytes - 1)) return std::nullopt;
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

GrowthPolicy::GrowthPolicy(std::size_t segment_bytes, std::size_t limit_bytes)
    : segment_bytes_(0), limit_bytes_(limit_bytes) {
  const auto rounded = round_to_blocks(segment_bytes);
  if (segment_bytes == 0 || !rounded) {
    throw UsageError("MemoryPoolOptions::segment_bytes is " + std::to_string(segment_bytes) +
                     "; give the least bytes to take at once, such as 2097152");
  }
  segment_bytes_ = *rounded;
}

std::optional<std::size_t> GrowthPolicy::segment_for(std::size_t block_bytes,
                                                     std::size_t reserved) const noexcept {
  const std::size_t usual = std::max(segment_bytes_, block_bytes);
  if (limit_bytes_ == 0) return usual;
  const std::size_t left = limit_bytes_ > reserved ? limit_bytes_ - reserved : 0;
  const std::size_t allowed = left / kBlockBytes * kBlockBytes;
  if (allowed < block_bytes) return std::nullopt;
  return std::min(usual, allowed);
}

}  // namespace reprise
