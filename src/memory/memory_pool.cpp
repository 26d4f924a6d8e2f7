// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <reprise/memory_pool.h>

#include "core/bytes.h"
#include "device/backend.h"
#include "device/recordings.h"
#include "memory/device_resource.h"
#include "memory/expandable_resource.h"
#include "memory/pool_core.h"

namespace reprise {
namespace {

std::string free_memory_of(const Device& device) {
  try {
    return fmt::format("{} has {} free", device.label(), format_bytes(device.memory_info().free));
  } catch (const DeviceError& error) {
    return fmt::format("{} does not tell its free memory ({})", device.label(), error.what());
  }
}

std::shared_ptr<MemoryResource> default_upstream(const std::shared_ptr<Device>& device,
                                                 std::string label, bool expandable) {
  if (!expandable) return std::make_shared<DeviceResource>(device, std::move(label));
  return std::make_shared<ExpandableResource>(device, std::move(label));
}

/// The calling thread's recording on a device.
class ThreadRecording {
 public:
  explicit ThreadRecording(const Device& device)
      : recording_(recordings::of_this_thread(device.kind(), device.properties().ordinal)) {
    if (recording_ != nullptr) site_ = {recording_->id, recording_->origin_name};
  }
  const RecordingSite* site() const noexcept { return recording_ ? &site_ : nullptr; }
  /// A refusal spoils the recording even if the caller swallows the exception.
  void spoil(const CaptureError& error) const {
    if (recording_ != nullptr) recording_->spoil(error.fault(), error.what());
  }

 private:
  std::shared_ptr<LiveRecording> recording_;
  RecordingSite site_;
};

}  // namespace

struct MemoryPool::Impl {
  Impl(std::shared_ptr<Device> owner, MemoryPoolOptions options,
       std::shared_ptr<MemoryResource> segments)
      : device(std::move(owner)),
        upstream(std::move(segments)),
        core(std::move(options), upstream, [raw = device.get()] { return free_memory_of(*raw); }) {}

  const std::shared_ptr<Device> device;
  const std::shared_ptr<MemoryResource> upstream;
  mutable std::mutex mutex;  ///< guards `core`
  PoolCore core;
};

std::shared_ptr<MemoryPool> MemoryPool::create(std::shared_ptr<Device> device,
                                               MemoryPoolOptions options,
                                               std::shared_ptr<MemoryResource> upstream) {
  if (device == nullptr) {
    throw UsageError(fmt::format("pool '{}' was given no device; pass one that Device::open gave",
                                 options.name));
  }
  if (upstream != nullptr && options.expandable) {
    throw UsageError(fmt::format(
        "pool '{}' is to be expandable and was given an upstream; whether that can lengthen its "
        "segments is its own business: leave `expandable` off",
        options.name));
  }
  if (upstream == nullptr) {
    upstream = default_upstream(device, fmt::format("pool '{}'", options.name), options.expandable);
  }
  auto impl = std::make_unique<Impl>(std::move(device), std::move(options), std::move(upstream));
  return std::shared_ptr<MemoryPool>(new MemoryPool(std::move(impl)));
}

MemoryPool::MemoryPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MemoryPool::~MemoryPool() = default;

const std::string& MemoryPool::name() const noexcept { return impl_->core.options().name; }
Device& MemoryPool::device() const noexcept { return *impl_->device; }

bool MemoryPool::asleep() const noexcept { return impl_->upstream->asleep(); }

PoolBlock MemoryPool::allocate(std::size_t bytes, std::string_view label) {
  if (asleep()) {
    throw UsageError(
        fmt::format("pool '{}' is asleep and has no memory to give '{}'; call wake() "
                    "of the SleepableMemory that it lies in first",
                    name(), label));
  }
  const ThreadRecording recording(*impl_->device);
  try {
    PoolCore::Taken taken;
    {
      const std::lock_guard lock(impl_->mutex);
      taken = impl_->core.allocate(bytes, label, recording.site());
    }
    // The device's own stamps: a block also differs from every buffer that lay at its address.
    const auto generation = impl_->device->state().next_generation.fetch_add(1);
    return {shared_from_this(), taken.data, taken.bytes, generation};
  } catch (const CaptureError& error) {
    recording.spoil(error);
    throw;
  }
}

void MemoryPool::reserve(std::size_t bytes) {
  const ThreadRecording recording(*impl_->device);
  try {
    const std::lock_guard lock(impl_->mutex);
    impl_->core.reserve(bytes, recording.site());
  } catch (const CaptureError& error) {
    recording.spoil(error);
    throw;
  }
}

std::size_t MemoryPool::trim() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->core.trim();
}

void MemoryPool::give_back(void* data) noexcept {
  const auto& properties = impl_->device->properties();
  const bool records = recordings::of_this_thread(properties.kind, properties.ordinal) != nullptr;
  // Only whether there is a recording matters here; its name would need an allocation.
  const RecordingSite site;
  const std::lock_guard lock(impl_->mutex);
  impl_->core.give_back(data, records ? &site : nullptr);
}

void MemoryPool::keep_segment(void* data) noexcept {
  const std::lock_guard lock(impl_->mutex);
  impl_->core.keep_segment(data);
}

MemoryStatistics MemoryPool::statistics() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->core.statistics();
}

void MemoryPool::reset_peak_stats() {
  const std::lock_guard lock(impl_->mutex);
  impl_->core.reset_peak_stats();
}

void MemoryPool::reset_accumulated_stats() {
  const std::lock_guard lock(impl_->mutex);
  impl_->core.reset_accumulated_stats();
}

std::vector<SegmentInfo> MemoryPool::snapshot() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->core.snapshot();
}

}  // namespace reprise
