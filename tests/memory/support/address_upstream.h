// SPDX-License-Identifier: Apache-2.0
// An upstream of addresses without memory, whose allocations grow in place as those of a device
// that can reserve addresses: for pools of any size, and sequences of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include <reprise/memory_pool.h>

namespace reprise::testing {

class AddressUpstream : public MemoryResource {
 public:
  explicit AddressUpstream(std::size_t granularity, bool extends = true)
      : granularity_(granularity), extends_(extends) {}

  void* allocate(std::size_t bytes) override {
    next_ += kApart;
    void* const data = reinterpret_cast<void*>(next_);
    bytes_[data] = bytes;
    mapped_ += bytes;
    return data;
  }
  void deallocate(void* data, std::size_t bytes) noexcept override {
    mapped_ -= bytes;
    bytes_.erase(data);
  }
  std::size_t granularity() const noexcept override { return granularity_; }
  bool extend(void* data, std::size_t bytes, std::size_t more) override {
    if (!extends_ || bytes_.at(data) != bytes) return false;
    bytes_[data] += more;
    mapped_ += more;
    return true;
  }

  std::size_t mapped_bytes() const { return mapped_; }
  std::size_t count() const { return bytes_.size(); }

 private:
  static constexpr std::uintptr_t kApart = std::uintptr_t{1} << 40;

  const std::size_t granularity_;
  const bool extends_;
  std::uintptr_t next_ = 0;
  std::unordered_map<void*, std::size_t> bytes_;
  std::size_t mapped_ = 0;
};

}  // namespace reprise::testing
