// SPDX-License-Identifier: Apache-2.0
// Ranges of the calling thread's time, as profilers show them (NVTX on CUDA devices). Where no
// profiler listens they cost a comparison.
#pragma once

#include <string>

#include "device/backend.h"

namespace reprise {

/// A range's name, told to the profiler once: opening the range then builds no string and allocates
/// nothing of ours, so it may stand on the replay path (DESIGN §4.10). The device must outlive it.
class RangeName {
 public:
  RangeName() = default;
  /// `text()` makes the name; it is not called where no profiler listens.
  template <class Text>
  RangeName(DeviceState& device, const Text& text) {
    if (!device.profiled) return;
    device_ = &device;
    name_ = device.register_range(text());
  }

 private:
  friend class RangeScope;
  DeviceState* device_ = nullptr;  // null: no profiler listens
  const void* name_ = nullptr;
};

/// Open while it lives. On one thread ranges nest.
class RangeScope {
 public:
  explicit RangeScope(const RangeName& name) noexcept : device_(name.device_) {
    if (device_ != nullptr) device_->push_range(name.name_);
  }
  ~RangeScope() {
    if (device_ != nullptr) device_->pop_range();
  }
  RangeScope(const RangeScope&) = delete;
  RangeScope& operator=(const RangeScope&) = delete;

 private:
  DeviceState* const device_;
};

}  // namespace reprise
