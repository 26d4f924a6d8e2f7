// SPDX-License-Identifier: Apache-2.0
// Allocations that grow in place: each has a stretch of addresses of its own, as long as the
// device's memory, of which it maps what it needs.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <reprise/address_range.h>
#include <reprise/memory_pool.h>

namespace reprise {

/// Thread safe.
class ExpandableResource : public MemoryResource {
 public:
  /// `label` names the addresses in messages. Throws DeviceError where the device cannot reserve.
  ExpandableResource(std::shared_ptr<Device> device, std::string label);

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  std::size_t granularity() const noexcept override { return granularity_; }
  bool extend(void* data, std::size_t bytes, std::size_t more) override;

 private:
  const std::shared_ptr<Device> device_;
  const std::string label_;
  const std::size_t granularity_;
  std::mutex mutex_;
  std::unordered_map<void*, AddressRange> ranges_;
};

}  // namespace reprise
