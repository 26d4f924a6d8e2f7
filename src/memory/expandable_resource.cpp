// SPDX-License-Identifier: Apache-2.0
#include "memory/expandable_resource.h"

#include <algorithm>
#include <utility>

namespace reprise {

ExpandableResource::ExpandableResource(std::shared_ptr<Device> device, std::string label)
    : device_(std::move(device)),
      label_(std::move(label)),
      granularity_(device_->reserve(1, label_).granularity()) {}

void* ExpandableResource::allocate(std::size_t bytes) {
  AddressRange range =
      device_->reserve(std::max(bytes, device_->properties().total_memory), label_);
  const std::size_t mapped = (bytes + granularity_ - 1) / granularity_ * granularity_;
  range.map(0, mapped);
  void* const data = range.data();
  const std::lock_guard lock(mutex_);
  ranges_.emplace(data, std::move(range));
  return data;
}

bool ExpandableResource::extend(void* data, std::size_t bytes, std::size_t more) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(data);
  if (found == ranges_.end()) return false;
  AddressRange& range = found->second;
  const bool whole = bytes % granularity_ == 0 && more % granularity_ == 0;
  if (!whole || bytes > range.bytes() || more > range.bytes() - bytes) return false;
  range.map(bytes, more);
  return true;
}

void ExpandableResource::deallocate(void* data, std::size_t) noexcept {
  AddressRange gone;  // given back after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(data);
  if (found == ranges_.end()) return;
  gone = std::move(found->second);
  ranges_.erase(found);
}

}  // namespace reprise
