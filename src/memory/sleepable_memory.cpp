// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/sleepable_memory.h>

#include "memory/sleepable_allocation.h"

namespace reprise {

std::string_view to_string(SleepClass kind) noexcept {
  switch (kind) {
    case SleepClass::discard:
      return "discard";
    case SleepClass::save:
      return "save";
    case SleepClass::reload:
      return "reload";
  }
  return "?";
}

std::size_t SleepReport::bytes() const noexcept {
  std::size_t sum = 0;
  for (const Part& part : parts) sum += part.bytes;
  return sum;
}

/// Segments for a pool. Its buffers go before the memory they lie in, since they keep that alive.
class SleepableMemory::Resource : public MemoryResource {
 public:
  Resource(std::shared_ptr<SleepableMemory> memory, SleepClass kind, std::string_view label)
      : memory_(std::move(memory)), kind_(kind), label_(label) {}

  void* allocate(std::size_t bytes) override {
    const std::size_t addresses = memory_->device().properties().total_memory;
    SleepableBuffer buffer = memory_->allocate(bytes, kind_, label_, nullptr, addresses);
    void* const data = buffer.data();
    const std::lock_guard lock(mutex_);
    buffers_.emplace(data, std::move(buffer));
    return data;
  }
  void deallocate(void* data, std::size_t) noexcept override {
    SleepableBuffer gone;  // given back after the lock is released
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(data);
    if (found == buffers_.end()) return;
    gone = std::move(found->second);
    buffers_.erase(found);
  }
  bool extend(void* data, std::size_t bytes, std::size_t more) override {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(data);
    if (found == buffers_.end()) return false;
    SleepableBuffer& buffer = found->second;
    const bool whole = more % memory_->granularity() == 0;
    if (!whole || bytes != buffer.bytes() || more > buffer.reserved_bytes() - bytes) return false;
    buffer.extend(more);
    return true;
  }
  std::size_t granularity() const noexcept override { return memory_->granularity(); }
  bool asleep() const noexcept override { return memory_->asleep(); }

 private:
  const std::shared_ptr<SleepableMemory> memory_;
  const SleepClass kind_;
  const std::string label_;
  std::mutex mutex_;
  std::unordered_map<void*, SleepableBuffer> buffers_;
};

std::shared_ptr<SleepableMemory> SleepableMemory::create(std::shared_ptr<Device> device,
                                                         SleepableMemoryOptions options) {
  if (device == nullptr) {
    throw UsageError(
        fmt::format("sleepable memory '{}' was given no device; pass one that Device::open gave",
                    options.name));
  }
  return std::shared_ptr<SleepableMemory>(
      new SleepableMemory(std::move(device), std::move(options)));
}

SleepableMemory::SleepableMemory(std::shared_ptr<Device> device, SleepableMemoryOptions options)
    : device_(std::move(device)),
      options_(std::move(options)),
      granularity_(device_->reserve(1, options_.name).granularity()),
      stream_(device_->create_stream("sleep of '" + options_.name + "'")) {}

SleepableMemory::~SleepableMemory() = default;

Device& SleepableMemory::device() const noexcept { return *device_; }
const std::string& SleepableMemory::name() const noexcept { return options_.name; }
std::size_t SleepableMemory::granularity() const noexcept { return granularity_; }

void SleepableMemory::require_steady(std::string_view call, std::string_view label) const {
  if (!busy_ && !asleep()) return;
  throw UsageError(fmt::format("{} of '{}' in sleepable memory '{}', which is {}; {}", call, label,
                               name(), busy_ ? "going to sleep or waking up" : "asleep",
                               busy_ ? "do it before or after" : "call wake() first"));
}

SleepableBuffer SleepableMemory::allocate(std::size_t bytes, SleepClass kind,
                                          std::string_view label, ReloadFunction reload,
                                          std::size_t reserve_bytes) {
  if ((kind == SleepClass::reload) != static_cast<bool>(reload)) {
    throw UsageError(fmt::format(
        "'{}' in sleepable memory '{}' is of class {} and was given {} reload function; memory of "
        "class reload needs one, other memory takes none",
        label, name(), to_string(kind), reload ? "a" : "no"));
  }
  // Held throughout: what is in the list of a memory that falls asleep is mapped.
  const std::lock_guard lock(mutex_);
  require_steady("allocation", label);
  auto allocation = std::make_shared<SleepableAllocation>();
  allocation->kind = kind;
  allocation->reload = std::move(reload);
  allocation->range = device_->reserve(std::max(bytes, reserve_bytes), label);
  // The range was rounded up, so this cannot pass the largest number.
  allocation->bytes = (bytes + granularity_ - 1) / granularity_ * granularity_;
  allocation->map();
  allocations_.push_back(allocation);
  return {shared_from_this(), std::move(allocation)};
}

std::shared_ptr<MemoryResource> SleepableMemory::resource(SleepClass kind, std::string_view label) {
  if (kind == SleepClass::reload) {
    throw UsageError(fmt::format(
        "resource '{}' of sleepable memory '{}' cannot be of class reload: only who took the "
        "blocks knows what was in them; use discard or save, or allocate() one buffer and cut it",
        label, name()));
  }
  return std::make_shared<Resource>(shared_from_this(), kind, label);
}

void SleepableMemory::extend(SleepableAllocation& allocation, std::size_t more) {
  const std::lock_guard lock(mutex_);
  require_steady("extension", allocation.range.label());
  const std::size_t bytes = allocation.bytes;
  allocation.range.map(bytes, more);
  allocation.bytes = bytes + more;
}

void SleepableMemory::forget(const std::shared_ptr<SleepableAllocation>& allocation) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(allocations_, allocation);
}

SleepableMemory::Allocations SleepableMemory::all() const {
  const std::lock_guard lock(mutex_);
  return allocations_;
}

std::size_t SleepableMemory::mapped_bytes() const {
  std::size_t sum = 0;
  for (const auto& allocation : all()) sum += allocation->range.mapped_bytes();
  return sum;
}

}  // namespace reprise
