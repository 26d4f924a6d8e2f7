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

namespace {

/// nullopt where that is not representable. `unit` is a power of two.
std::optional<std::size_t> rounded_up(std::size_t bytes, std::size_t unit) noexcept {
  if (bytes > std::numeric_limits<std::size_t>::max() - (unit - 1)) return std::nullopt;
  return (bytes + unit - 1) & ~(unit - 1);
}

}  // namespace

GrowthPolicy::GrowthPolicy(std::size_t segment_bytes, std::size_t limit_bytes,
                           std::size_t granularity)
    : unit_(std::max(kBlockBytes, granularity)), segment_bytes_(0), limit_bytes_(limit_bytes) {
  const auto rounded = rounded_up(segment_bytes, unit_);
  if (segment_bytes == 0 || !rounded) {
    throw UsageError("MemoryPoolOptions::segment_bytes is " + std::to_string(segment_bytes) +
                     "; give the least bytes to take at once, such as 2097152");
  }
  segment_bytes_ = *rounded;
}

std::optional<std::size_t> GrowthPolicy::within_limit(std::size_t usual, std::size_t least,
                                                      std::size_t reserved) const noexcept {
  if (limit_bytes_ == 0) return usual;
  const std::size_t left = limit_bytes_ > reserved ? limit_bytes_ - reserved : 0;
  const std::size_t allowed = left / unit_ * unit_;
  if (allowed < least) return std::nullopt;
  return std::min(usual, allowed);
}

std::optional<std::size_t> GrowthPolicy::segment_for(std::size_t block_bytes,
                                                     std::size_t reserved) const noexcept {
  const auto least = rounded_up(block_bytes, unit_);
  if (!least) return std::nullopt;
  return within_limit(std::max(segment_bytes_, *least), *least, reserved);
}

std::optional<std::size_t> GrowthPolicy::extension_for(std::size_t block_bytes,
                                                       std::size_t free_tail,
                                                       std::size_t reserved) const noexcept {
  const auto least = rounded_up(block_bytes - free_tail, unit_);
  if (!least) return std::nullopt;
  const std::size_t steps = (*least - 1) / segment_bytes_ + 1;
  if (steps > std::numeric_limits<std::size_t>::max() / segment_bytes_) return std::nullopt;
  return within_limit(steps * segment_bytes_, *least, reserved);
}

}  // namespace reprise
