// SPDX-License-Identifier: Apache-2.0
// The host device's memory: aligned, counted, limited, and poisoned when fresh.
#pragma once

#include <cstddef>
#include <mutex>

#include <reprise/device.h>

namespace reprise::host {

/// Fresh memory is filled with it, so that reading what nobody wrote is seen.
inline constexpr unsigned char kPoison = 0xA5;
/// Allocations from here on come from mmap and are left as the system gives them.
inline constexpr std::size_t kHugeBytes = std::size_t{64} << 20;

/// Thread safe.
class Memory {
 public:
  /// `limit` 0: the machine's memory.
  explicit Memory(std::size_t limit);

  std::size_t total() const noexcept { return total_; }
  MemoryInfo info() const;
  /// Aligned to 256 bytes, never null. Throws OutOfMemory.
  void* allocate(std::size_t bytes);
  void free(void* data, std::size_t bytes) noexcept;

  /// Puts memory behind reserved addresses (host/address_space.h), counted like an allocation.
  /// Throws OutOfMemory; nothing was changed then.
  void map(void* address, std::size_t bytes);
  void unmap(void* address, std::size_t bytes);
  /// Addresses with `mapped` bytes of memory behind them.
  void release(void* data, std::size_t bytes, std::size_t mapped) noexcept;

 private:
  std::size_t free_locked(std::size_t wanted) const;
  [[noreturn]] void fail(std::size_t bytes, std::size_t free) const;

  const std::size_t total_;
  mutable std::mutex mutex_;
  std::size_t used_ = 0;
};

}  // namespace reprise::host
