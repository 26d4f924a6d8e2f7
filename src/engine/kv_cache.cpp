// SPDX-License-Identifier: Apache-2.0
#include "engine/kv_cache.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/bytes.h"

namespace reprise {

Sequence::~Sequence() { release(); }

Sequence::Sequence(Sequence&& other) noexcept
    : cache_(other.cache_),
      pages_(std::exchange(other.pages_, {})),
      length_(std::exchange(other.length_, 0)) {}

Sequence& Sequence::operator=(Sequence&& other) noexcept {
  if (this != &other) {
    release();
    cache_ = other.cache_;
    pages_ = std::exchange(other.pages_, {});
    length_ = std::exchange(other.length_, 0);
  }
  return *this;
}

void Sequence::release() noexcept {
  for (const std::int32_t page : pages_) cache_->pages().free(page);
  pages_.clear();
}

void Sequence::reserve(std::int64_t tokens) {
  const auto needed = static_cast<std::size_t>(KvCache::pages_for(tokens));
  if (needed <= pages_.size()) return;
  const auto missing = static_cast<std::int64_t>(needed - pages_.size());
  if (missing > cache_->pages().available()) {
    throw OutOfMemory(
        fmt::format("the KV cache has {} pages free, a sequence of {} tokens needs {} more; end "
                    "other sequences "
                    "or make the cache larger",
                    cache_->pages().available(), tokens, missing));
  }
  pages_.reserve(needed);
  while (pages_.size() < needed) pages_.push_back(*cache_->pages().allocate());
}

std::int32_t KvCache::pages_for(std::int64_t sequences, std::int64_t tokens) {
  // In floating point, for the product may not fit 64 bits.
  const double pages = static_cast<double>(sequences) * std::ceil(double(tokens) / kPageTokens) + 1;
  if (pages <= std::numeric_limits<std::int32_t>::max()) return static_cast<std::int32_t>(pages);
  throw OutOfMemory(
      fmt::format("a KV cache of {} sequences of {} tokens has more pages than can be numbered; "
                  "ask for fewer rows or a shorter context",
                  sequences, tokens));
}

void KvCache::require_room(const Device& device, const ModelConfig& config, DType dtype,
                           std::int64_t sequences, std::int64_t tokens) {
  const double token = 2.0 * static_cast<double>(config.layers * config.kv_size()) *
                       static_cast<double>(size_of(dtype));
  const double bytes = token * static_cast<double>(sequences) * static_cast<double>(tokens);
  const MemoryInfo memory = device.memory_info();
  if (bytes <= static_cast<double>(memory.free)) return;
  throw OutOfMemory(fmt::format(
      "keys and values of {} rows with {} entries each take {:.1f} GiB, {} has {} free; ask for a "
      "smaller batch, a shorter context or fewer tokens",
      sequences, tokens, bytes / (1 << 30), device.label(), format_bytes(memory.free)));
}

KvCache::KvCache(Device& device, const ModelConfig& config, DType dtype, std::int32_t pages)
    : dtype_(dtype), pages_(pages) {
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t token = config.kv_size() * element;  // of keys or of values, in one layer
  bytes_per_token_ = 2 * config.layers * token;
  const auto part = static_cast<std::size_t>(token) * kPageTokens * static_cast<std::size_t>(pages);
  const auto stride = (part + 255) / 256 * 256;
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(stride, 2 * static_cast<std::size_t>(config.layers), &bytes)) {
    throw OutOfMemory(
        fmt::format("a KV cache of {} pages is beyond any memory; ask for fewer rows or a shorter "
                    "context",
                    pages));
  }
  buffer_ = device.allocate(bytes, "KV cache");
  auto* const base = static_cast<std::byte*>(buffer_.data());
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto first = static_cast<std::size_t>(2 * layer) * stride;
    layers_.push_back({.keys = base + first, .values = base + first + stride, .dtype = dtype});
  }
}

}  // namespace reprise
