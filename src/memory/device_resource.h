// SPDX-License-Identifier: Apache-2.0
// The device as the source of a pool's segments.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <reprise/device.h>
#include <reprise/memory_pool.h>

namespace reprise {

/// Keeps the buffers it hands out; a buffer freed while a recording is live on the device goes when
/// that ends. Thread safe.
class DeviceResource : public MemoryResource {
 public:
  /// `label` names the buffers in the device's messages.
  DeviceResource(std::shared_ptr<Device> device, std::string label);

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;

 private:
  const std::shared_ptr<Device> device_;
  const std::string label_;
  std::mutex mutex_;
  std::unordered_map<void*, Buffer> buffers_;
};

}  // namespace reprise
