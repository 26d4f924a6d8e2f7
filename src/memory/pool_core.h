// SPDX-License-Identifier: Apache-2.0
// The pool without its device and without its lock: joins the free list, the growth policy and the
// recording order, and counts. MemoryPool (memory/memory_pool.cpp) adds the device's facts.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <reprise/memory_pool.h>

#include "memory/free_list.h"
#include "memory/growth_policy.h"
#include "memory/recording_order.h"

namespace reprise {

/// Not thread safe.
class PoolCore {
 public:
  /// `device_memory` tells for messages what the device has left: "host:0 has 1.0 GiB free".
  PoolCore(MemoryPoolOptions options, std::shared_ptr<MemoryResource> upstream,
           std::function<std::string()> device_memory);
  /// Gives every segment back to the upstream.
  ~PoolCore();
  PoolCore(const PoolCore&) = delete;
  PoolCore& operator=(const PoolCore&) = delete;

  struct Taken {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  /// `site` is the calling thread's recording, null where it has none: so below, too. As
  /// MemoryPool::allocate.
  Taken allocate(std::size_t bytes, std::string_view label, const RecordingSite* site);
  void give_back(void* data, const RecordingSite* site) noexcept;
  /// The segment of a block that is handed out stays, as though a recording had used it.
  void keep_segment(void* data) noexcept;
  /// As MemoryPool::reserve.
  void reserve(std::size_t bytes, const RecordingSite* site);
  std::size_t trim() noexcept;

  const MemoryPoolOptions& options() const noexcept { return options_; }
  const MemoryStatistics& statistics() const noexcept { return statistics_; }
  void reset_peak_stats() noexcept;
  void reset_accumulated_stats() noexcept;
  std::vector<SegmentInfo> snapshot() const;

 private:
  /// What is asked for, for messages.
  struct Request {
    std::size_t bytes;  ///< as asked
    std::size_t block_bytes;
    std::string_view label;
  };
  Request rounded(std::size_t bytes, std::string_view label);
  /// Adds a segment that holds the block, or throws.
  void grow(const Request& request, const RecordingSite* site);
  /// Lengthens the newest segment, or adds one, to hold the block; else the reason why not.
  std::optional<std::string> try_grow(std::size_t block_bytes);
  /// False where the upstream or the limit does not allow it.
  bool try_extend(std::size_t block_bytes);
  /// The upstream's memory for a new segment; nullopt: the limit forbids it.
  std::optional<Taken> take_segment(std::size_t block_bytes);
  void add_segment(void* upstream_data, std::size_t upstream_bytes);
  SegmentRef return_to_upstream(SegmentRef segment) noexcept;
  void count_split() noexcept;
  [[noreturn]] void throw_out_of_memory(const Request& request, std::string_view reason);

  const MemoryPoolOptions options_;
  const GrowthPolicy policy_;
  const std::shared_ptr<MemoryResource> upstream_;
  const std::function<std::string()> device_memory_;
  FreeList free_list_;
  std::unordered_map<void*, BlockRef> handed_out_;
  MemoryStatistics statistics_;
};

}  // namespace reprise
