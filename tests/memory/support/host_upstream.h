// SPDX-License-Identifier: Apache-2.0
// An upstream of ordinary memory, so that pools are tested without a device.
#pragma once

#include <cstddef>
#include <new>

#include <reprise/memory_pool.h>

namespace reprise::testing {

/// Gives memory that is aligned to 512 bytes and then shifted by `skew` bytes.
class HostUpstream : public MemoryResource {
 public:
  explicit HostUpstream(std::size_t skew = 0) : skew_(skew) {}

  void* allocate(std::size_t bytes) override {
    return static_cast<std::byte*>(::operator new(bytes + skew_, kAlignment)) + skew_;
  }
  void deallocate(void* data, std::size_t) noexcept override {
    ::operator delete(static_cast<std::byte*>(data) - skew_, kAlignment);
  }

 private:
  static constexpr std::align_val_t kAlignment{512};
  const std::size_t skew_;
};

}  // namespace reprise::testing
