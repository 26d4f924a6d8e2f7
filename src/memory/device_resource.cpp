// SPDX-License-Identifier: Apache-2.0
#include "memory/device_resource.h"

#include <utility>

#include "device/backend.h"

namespace reprise {

DeviceResource::DeviceResource(std::shared_ptr<Device> device, std::string label)
    : device_(std::move(device)), label_(std::move(label)) {}

void* DeviceResource::allocate(std::size_t bytes) {
  Buffer buffer = device_->allocate(bytes, label_);
  void* const data = buffer.data();
  const std::lock_guard lock(mutex_);
  buffers_.emplace(data, std::move(buffer));
  return data;
}

void DeviceResource::deallocate(void* data, std::size_t) noexcept {
  Buffer gone;  // freed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = buffers_.find(data);
  if (found == buffers_.end()) return;
  gone = std::move(found->second);
  buffers_.erase(found);
}

}  // namespace reprise
