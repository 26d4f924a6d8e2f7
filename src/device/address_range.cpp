// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include <reprise/address_range.h>

#include "device/backend.h"
#include "device/checks.h"
#include "device/mapping_table.h"

namespace reprise {

struct AddressRangeState {
  std::shared_ptr<Device> device;
  void* data = nullptr;
  std::size_t bytes = 0;
  std::size_t granularity = 0;
  std::string label;
  std::uint64_t generation = 0;

  mutable std::mutex mutex;  ///< guards the table, and keeps it in step with the device
  MappingTable table;
};

namespace {

const std::string kNoLabel;

std::string describe(const AddressRangeState& range) {
  return fmt::format("address range '{}' ({})", range.label, range.device->label());
}

AddressRangeState& require(const std::unique_ptr<AddressRangeState>& state, std::string_view call) {
  if (state == nullptr) {
    throw UsageError(
        fmt::format("{} on an empty address range; it was never reserved or moved from", call));
  }
  return *state;
}

void release_now(const AddressRangeState& range) noexcept {
  if (range.data == nullptr) return;
  DeviceState& device = range.device->state();
  device.wait_for_work();
  device.release_addresses(range.data, range.bytes, range.table);
}

/// "[4194304, 6291456)".
std::string text_of(const Mapping& part) {
  return fmt::format("[{}, {})", part.offset, part.end());
}

void require_inside(const AddressRangeState& range, std::size_t offset, std::size_t bytes,
                    std::string_view call) {
  if (offset <= range.bytes && bytes <= range.bytes - offset) return;
  throw UsageError(
      fmt::format("{} of {} bytes at offset {} of {}: it has {} bytes, and this does "
                  "not lie inside",
                  call, bytes, offset, describe(range), range.bytes));
}

void require_aligned(const AddressRangeState& range, std::size_t offset, std::size_t bytes,
                     std::string_view call) {
  if (offset % range.granularity == 0 && bytes % range.granularity == 0) return;
  throw UsageError(
      fmt::format("{} of {} bytes at offset {} of {}: both must be multiples of its "
                  "granularity, {} bytes",
                  call, bytes, offset, describe(range), range.granularity));
}

/// What map() and unmap() have in common. None where there is nothing to do.
std::optional<Mapping> checked_part(const AddressRangeState& range, std::size_t offset,
                                    std::size_t bytes, std::string_view call,
                                    std::string_view fix) {
  const DeviceState& device = range.device->state();
  device.require_usable();
  checks::refuse_on_recording_thread(
      device, call, [&] { return describe(range); }, fix);
  require_inside(range, offset, bytes, call);
  if (bytes == 0) return std::nullopt;
  require_aligned(range, offset, bytes, call);
  return Mapping{offset, bytes};
}

/// The mappings that `part` consists of.
std::vector<Mapping> whole_mappings(const AddressRangeState& range, const Mapping& part) {
  constexpr std::string_view kCall = "AddressRange::unmap";
  if (const auto cut = range.table.first_cut(part)) {
    throw UsageError(fmt::format(
        "{} of {} of {}: it would cut {}, which one map() call mapped; give that back whole, or "
        "map in smaller pieces",
        kCall, text_of(part), describe(range), text_of(*cut)));
  }
  if (const auto gap = range.table.first_gap(part)) {
    throw UsageError(fmt::format("{} of {} of {}: {} is not mapped", kCall, text_of(part),
                                 describe(range), text_of(*gap)));
  }
  return range.table.inside(part);
}

std::byte* address_of(const AddressRangeState& range, std::size_t offset) {
  return static_cast<std::byte*>(range.data) + offset;
}

std::size_t rounded_up(std::size_t bytes, std::size_t granularity, std::string_view label) {
  if (bytes > SIZE_MAX - granularity) {
    throw DeviceError(fmt::format(
        "address range '{}': there is no stretch of {} bytes of addresses; reserve less", label,
        bytes));
  }
  return (bytes + granularity - 1) / granularity * granularity;
}

}  // namespace

AddressRange Device::reserve(std::size_t bytes, std::string_view label) {
  state_->require_usable();
  checks::refuse_on_recording_thread(
      *state_, "Device::reserve",
      [&] {
        return fmt::format("address range '{}' of {} bytes ({})", label, bytes, state_->label());
      },
      "reserve before recording");
  auto range = std::make_unique<AddressRangeState>();
  range->device = shared_from_this();
  range->granularity = state_->mapping_granularity();
  range->bytes = rounded_up(bytes, range->granularity, label);
  range->label = label;
  try {
    if (range->bytes != 0) range->data = state_->reserve_addresses(range->bytes);
  } catch (const DeviceError& fault) {
    throw DeviceError(fmt::format("address range '{}': {}", label, fault.what()), fault.code());
  }
  range->generation = state_->next_generation.fetch_add(1);
  return AddressRange(std::move(range));
}

AddressRange::AddressRange(std::unique_ptr<AddressRangeState> state) : state_(std::move(state)) {}

AddressRange::~AddressRange() {
  if (state_ == nullptr) return;
  const DeviceProperties& properties = state_->device->properties();
  if (!recordings::any_live(properties.kind, properties.ordinal)) {
    release_now(*state_);
    return;
  }
  std::shared_ptr<AddressRangeState> state = std::move(state_);
  recordings::run_or_defer(properties.kind, properties.ordinal, [state] { release_now(*state); });
}

AddressRange::AddressRange() noexcept = default;
AddressRange::AddressRange(AddressRange&&) noexcept = default;

AddressRange& AddressRange::operator=(AddressRange&& other) noexcept {
  if (this != &other) {
    const AddressRange old(std::move(*this));
    state_ = std::move(other.state_);
  }
  return *this;
}

void* AddressRange::data() const noexcept { return state_ ? state_->data : nullptr; }
std::size_t AddressRange::bytes() const noexcept { return state_ ? state_->bytes : 0; }
std::size_t AddressRange::granularity() const noexcept { return state_ ? state_->granularity : 0; }
const std::string& AddressRange::label() const noexcept {
  return state_ ? state_->label : kNoLabel;
}
std::uint64_t AddressRange::generation() const noexcept { return state_ ? state_->generation : 0; }

std::size_t AddressRange::mapped_bytes() const {
  if (state_ == nullptr) return 0;
  const std::lock_guard lock(state_->mutex);
  return state_->table.mapped_bytes();
}

bool AddressRange::is_mapped(std::size_t offset, std::size_t bytes) const {
  if (offset > this->bytes() || bytes > this->bytes() - offset) return false;
  if (bytes == 0) return true;
  const std::lock_guard lock(state_->mutex);
  return !state_->table.first_gap({offset, bytes});
}

MemoryView AddressRange::view(std::size_t offset, std::size_t bytes) const {
  constexpr std::string_view kCall = "AddressRange::view";
  const AddressRangeState& range = require(state_, kCall);
  require_inside(range, offset, bytes, kCall);
  const std::lock_guard lock(range.mutex);
  if (const auto gap = range.table.first_gap({offset, bytes})) {
    throw UsageError(
        fmt::format("{} of {} bytes at offset {} of {}: {} is not mapped; map it first", kCall,
                    bytes, offset, describe(range), text_of(*gap)));
  }
  return {address_of(range, offset), bytes, MemorySpace::device};
}

void AddressRange::map(std::size_t offset, std::size_t bytes) {
  constexpr std::string_view kCall = "AddressRange::map";
  AddressRangeState& range = require(state_, kCall);
  const auto part =
      checked_part(range, offset, bytes, kCall,
                   "map it before recording or afterwards: replays reach what was mapped since");
  if (!part) return;
  const std::lock_guard lock(range.mutex);
  if (const auto mapped = range.table.first_overlap(*part)) {
    throw UsageError(
        fmt::format("{} of {} of {}: {} is mapped already; unmap it first, or map "
                    "the rest only",
                    kCall, text_of(*part), describe(range), text_of(*mapped)));
  }
  range.table.add(*part);
  try {
    range.device->state().map(address_of(range, offset), bytes);
  } catch (const OutOfMemory& fault) {
    range.table.remove(*part);
    throw OutOfMemory(fmt::format("address range '{}': {}", range.label, fault.what()),
                      fault.code());
  } catch (...) {
    range.table.remove(*part);
    throw;
  }
}

void AddressRange::unmap(std::size_t offset, std::size_t bytes) {
  constexpr std::string_view kCall = "AddressRange::unmap";
  AddressRangeState& range = require(state_, kCall);
  const auto part = checked_part(range, offset, bytes, kCall, "unmap it after recording");
  if (!part) return;
  DeviceState& device = range.device->state();
  {
    const std::lock_guard lock(range.mutex);
    (void)whole_mappings(range, *part);  // a mistake is told without waiting
  }
  const bool idle = device.wait_for_work();  // not under the lock: it may take long
  device.require_usable();
  if (!idle) {
    throw DeviceError(fmt::format(
        "{} of {} of {}: work in flight could not be waited for, so that nothing was unmapped; do "
        "not call this from work that a stream runs, and end raw captures of the streams first",
        kCall, text_of(*part), describe(range)));
  }
  const std::lock_guard lock(range.mutex);
  for (const Mapping& mapping : whole_mappings(range, *part)) {
    device.unmap(address_of(range, mapping.offset), mapping.bytes);
    range.table.remove(mapping);
  }
}

}  // namespace reprise
