// SPDX-License-Identifier: Apache-2.0
// SleepableMemory::sleep() and wake(). Both work on a copy of the list of allocations, so that
// buffers may be destroyed meanwhile, and hold no lock, so that reload functions may ask.
#include <chrono>
#include <exception>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/sleepable_memory.h>

#include "core/bytes.h"
#include "device/backend.h"
#include "device/checks.h"
#include "memory/sleepable_allocation.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

/// Held by the one sleep() or wake() that is on its way.
class SleepableMemory::Busy {
 public:
  Busy(SleepableMemory& memory, std::string_view call) : memory_(memory) {
    const std::lock_guard lock(memory_.mutex_);
    if (memory_.busy_) {
      throw UsageError(
          fmt::format("{} of '{}' while it is going to sleep or waking up already; "
                      "call it before or after",
                      call, memory_.name()));
    }
    memory_.busy_ = true;
  }
  ~Busy() {
    const std::lock_guard lock(memory_.mutex_);
    memory_.busy_ = false;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  SleepableMemory& memory_;
};

std::size_t SleepableAllocation::give_back() {
  const std::size_t mapped = range.mapped_bytes();
  if (mapped == 0) return 0;
  std::size_t first = 0;  // a fault leaves the mappings behind it
  while (!range.is_mapped(first, range.granularity())) first += range.granularity();
  range.unmap(first, bytes - first);
  return mapped;
}

void SleepableMemory::require_no_recording(std::string_view call) const {
  const DeviceState& state = device_->state();
  state.require_usable();
  checks::refuse_on_recording_thread(
      state, call, [&] { return fmt::format("sleepable memory '{}'", name()); },
      "call it before or after recording");
  if (!recordings::any_live(state.properties.kind, state.properties.ordinal)) return;
  throw UsageError(
      fmt::format("{} of '{}' while a recording is live on {}; call it before or after", call,
                  name(), state.label()));
}

void SleepableMemory::save(const Allocations& allocations, SleepReport& report) {
  const auto start = Clock::now();
  for (const auto& allocation : allocations) {
    if (allocation->kind != SleepClass::save || allocation->bytes == 0) continue;
    allocation->saved = device_->allocate_pinned(allocation->bytes, allocation->range.label());
    stream_.copy(allocation->saved.view(), allocation->view());
    report.host_bytes += allocation->bytes;
  }
  stream_.synchronize();
  report.save_seconds = seconds_since(start);
}

void SleepableMemory::unmap(const Allocations& allocations, SleepReport& report) {
  const auto start = Clock::now();
  for (const auto& allocation : allocations) {
    const std::size_t bytes = allocation->give_back();
    SleepReport::Part& part = report.parts[static_cast<std::size_t>(allocation->kind)];
    part.allocations += bytes != 0 ? 1 : 0;
    part.bytes += bytes;
  }
  report.unmap_seconds = seconds_since(start);
}

void SleepableMemory::drop_saved(const Allocations& allocations) noexcept {
  for (const auto& allocation : allocations) allocation->saved = Buffer();
}

SleepReport SleepableMemory::sleep() {
  constexpr std::string_view kCall = "SleepableMemory::sleep";
  require_no_recording(kCall);
  const Busy busy(*this, kCall);
  const Allocations allocations = all();
  const bool again = asleep();
  const std::size_t before = mapped_bytes();
  if (again && before == 0) {
    throw UsageError(fmt::format("{} of '{}', which is asleep; call wake() first", kCall, name()));
  }
  SleepReport report;
  device_->synchronize();
  try {
    if (!again) save(allocations, report);  // else it was saved, and may be gone by now
    asleep_.store(true, std::memory_order_release);
    unmap(allocations, report);
    return report;
  } catch (const std::exception& fault) {
    const std::size_t left = mapped_bytes();
    if (!again && left == before) {
      asleep_.store(false, std::memory_order_release);
      drop_saved(allocations);
      throw;
    }
    throw DeviceError(fmt::format(
        "{} of '{}' gave back {} of {}, the rest is still there: {}; it is asleep: call sleep() "
        "again for the rest, or wake()",
        kCall, name(), format_bytes(before - left), format_bytes(before), fault.what()));
  }
}

void SleepableMemory::map(const Allocations& allocations, WakeReport& report) {
  const auto start = Clock::now();
  for (const auto& allocation : allocations) {
    allocation->give_back();  // where an unfinished sleep() left something
    if (allocation->bytes == 0) continue;
    allocation->map();
    report.bytes += allocation->bytes;
    ++report.mappings;
  }
  report.map_seconds = seconds_since(start);
}

void SleepableMemory::restore(const Allocations& allocations, WakeReport& report) {
  const auto start = Clock::now();
  for (const auto& allocation : allocations) {
    if (allocation->saved) stream_.copy(allocation->view(), allocation->saved.view());
    if (allocation->kind == SleepClass::discard && options_.discard_fill && allocation->bytes > 0) {
      stream_.fill(allocation->view(), *options_.discard_fill);
    }
  }
  stream_.synchronize();
  report.restore_seconds = seconds_since(start);
}

void SleepableMemory::reload(const Allocations& allocations, WakeReport& report) {
  const auto start = Clock::now();
  for (const auto& allocation : allocations) {
    if (allocation->kind == SleepClass::reload) allocation->reload(stream_, allocation->view());
  }
  stream_.synchronize();
  report.reload_seconds = seconds_since(start);
}

void SleepableMemory::give_back_quietly(const Allocations& allocations) noexcept {
  for (const auto& allocation : allocations) {
    try {
      allocation->give_back();
    } catch (const std::exception&) {
      // The next wake() tries again; on a lost device there is nothing to be had.
    }
  }
}

WakeReport SleepableMemory::wake() {
  constexpr std::string_view kCall = "SleepableMemory::wake";
  require_no_recording(kCall);
  const Busy busy(*this, kCall);
  if (!asleep()) {
    throw UsageError(fmt::format("{} of '{}', which is awake; call sleep() first", kCall, name()));
  }
  const Allocations allocations = all();
  WakeReport report;
  try {
    map(allocations, report);
    restore(allocations, report);
    reload(allocations, report);
  } catch (...) {
    give_back_quietly(allocations);
    throw;
  }
  drop_saved(allocations);
  asleep_.store(false, std::memory_order_release);
  return report;
}

}  // namespace reprise
