// SPDX-License-Identifier: Apache-2.0
// The paged KV cache of one model on one device, and the sequences that live in it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <reprise/device.h>

#include "engine/page_allocator.h"
#include "kernels/ops.h"
#include "model/config.h"

namespace reprise {

class KvCache;

/// A sequence's place in the cache: its pages, and how many entries are filled. Owns its pages;
/// move-only. The cache must outlive it.
class Sequence {
 public:
  explicit Sequence(KvCache& cache) noexcept : cache_(&cache) {}
  ~Sequence();
  Sequence(Sequence&& other) noexcept;
  Sequence& operator=(Sequence&& other) noexcept;

  /// Takes pages until `tokens` entries fit. Throws OutOfMemory, with the sequence as it was, when
  /// the cache has no page left.
  void reserve(std::int64_t tokens);
  const std::vector<std::int32_t>& pages() const noexcept { return pages_; }
  std::int64_t length() const noexcept { return length_; }
  /// Entries 0 … length - 1 count as filled.
  void set_length(std::int64_t length) noexcept { length_ = length; }

 private:
  void release() noexcept;

  KvCache* cache_;
  std::vector<std::int32_t> pages_;
  std::int64_t length_ = 0;
};

class KvCache {
 public:
  /// `pages` includes the sink page. Throws OutOfMemory.
  KvCache(Device& device, const ModelConfig& config, DType dtype, std::int32_t pages);

  static std::int32_t pages_for(std::int64_t tokens) noexcept {
    return static_cast<std::int32_t>((tokens + kPageTokens - 1) / kPageTokens);
  }

  /// Pages of a cache for so many sequences of that length, the sink page included. Throws
  /// OutOfMemory where page numbers have too few bits.
  static std::int32_t pages_for(std::int64_t sequences, std::int64_t tokens);

  /// Throws OutOfMemory where the device has no room for the keys and values of so many sequences
  /// of that length. For asking before the weights are loaded, which may take minutes.
  static void require_room(const Device& device, const ModelConfig& config, DType dtype,
                           std::int64_t sequences, std::int64_t tokens);

  const std::vector<CacheLayer>& layers() const noexcept { return layers_; }
  /// The whole memory as one tensor, for binding: recorded graphs hold its address.
  TensorView tensor() const { return buffer_.tensor(DType::u8, Shape{bytes()}); }
  std::int64_t bytes() const noexcept { return static_cast<std::int64_t>(buffer_.bytes()); }
  DType dtype() const noexcept { return dtype_; }
  PageAllocator& pages() noexcept { return pages_; }
  /// Bytes of keys and values that one token takes in all layers.
  std::int64_t bytes_per_token() const noexcept { return bytes_per_token_; }
  Buffer& buffer() noexcept { return buffer_; }

 private:
  DType dtype_;
  PageAllocator pages_;
  std::int64_t bytes_per_token_ = 0;
  Buffer buffer_;
  std::vector<CacheLayer> layers_;
};

}  // namespace reprise
