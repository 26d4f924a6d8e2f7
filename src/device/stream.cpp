// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "device/backend.h"
#include "device/checks.h"

namespace reprise {
namespace {

constexpr std::string_view kMoveOut = "move the call out of the recorded function";

void require_memory(const MemoryView& view, std::string_view what, std::string_view call) {
  if (view.data == nullptr && view.bytes != 0) {
    throw UsageError(fmt::format("{}: the {} is null but has {} bytes", call, what, view.bytes));
  }
}

void drain(StreamState& stream) noexcept {
  try {
    stream.synchronize();
  } catch (const std::exception&) {
    // A lost device says so at the next call; a destructor has nobody to tell.
  }
}

void release(std::shared_ptr<StreamState> stream) noexcept {
  if (const auto recording = stream->recording()) {
    recording->spoil(
        CaptureFault::refused,
        fmt::format("{} was destroyed while recording {} of stream '{}' was live ({}); "
                    "keep every stream until the recorded function has returned",
                    checks::describe(*stream), recording->id, recording->origin_name,
                    recording->progress()));
    return;  // the recording keeps it until it has been discarded
  }
  const DeviceProperties& properties = stream->owner->properties;
  // The default stream goes with its device, which would not outlive a deferral.
  if (stream->is_default ||
      recordings::of_this_thread(properties.kind, properties.ordinal) == nullptr) {
    drain(*stream);
    return;
  }
  recordings::run_or_defer(properties.kind, properties.ordinal, [stream] { drain(*stream); });
}

}  // namespace

Stream::Stream(std::shared_ptr<StreamState> state) : state_(std::move(state)) {}

Stream::~Stream() {
  if (state_ != nullptr) release(std::move(state_));
}

Stream::Stream(Stream&&) noexcept = default;

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this != &other) {
    const Stream old(std::move(*this));
    state_ = std::move(other.state_);
  }
  return *this;
}

const std::string& Stream::name() const noexcept { return state_->name; }
Device& Stream::device() const noexcept { return *state_->device; }

void Stream::copy(MemoryView destination, MemoryView source) {
  constexpr std::string_view kCall = "Stream::copy";
  const bool blocking =
      destination.space == MemorySpace::pageable || source.space == MemorySpace::pageable;
  state_->owner->require_usable();
  if (blocking) {
    checks::refuse_wait(
        *state_, "Stream::copy with pageable memory", [&] { return checks::describe(*state_); },
        "copy from or to a pinned buffer (Device::allocate_pinned)");
  }
  const auto recording = checks::admit_work(*state_, kCall);
  require_memory(destination, "destination", kCall);
  require_memory(source, "source", kCall);
  if (source.bytes > destination.bytes) {
    throw UsageError(fmt::format("Stream::copy on {}: {} bytes do not fit into {}",
                                 checks::describe(*state_), source.bytes, destination.bytes));
  }
  if (source.bytes == 0) return;
  state_->copy({destination.data, source.bytes, destination.space}, source);
  if (recording != nullptr) recording->note_work(*state_, state_->full_label("copy"));
  if (blocking) state_->synchronize();
}

void Stream::fill(MemoryView destination, std::uint8_t value) {
  const auto recording = checks::admit_work(*state_, "Stream::fill");
  require_memory(destination, "destination", "Stream::fill");
  if (destination.space == MemorySpace::pageable) {
    throw UsageError("Stream::fill: the destination is pageable memory; fill it on the host");
  }
  if (destination.bytes == 0) return;
  state_->fill(destination, value);
  if (recording != nullptr) recording->note_work(*state_, state_->full_label("fill"));
}

void Stream::synchronize() {
  state_->owner->require_usable();
  checks::refuse_wait(
      *state_, "Stream::synchronize", [&] { return checks::describe(*state_); }, kMoveOut);
  state_->synchronize();
}

bool Stream::query() {
  state_->owner->require_usable();
  checks::refuse_wait(
      *state_, "Stream::query", [&] { return checks::describe(*state_); }, kMoveOut);
  return state_->query();
}

bool Stream::recording() const noexcept { return state_->recording() != nullptr; }

LabelScope::LabelScope(Stream& stream, std::string_view label) {
  DeviceState& device = *stream.state().owner;
  if (device.profiled) {
    device.push_range(label);
    ranged_ = &device;
  }
  try {
    name_nodes(stream, label);
  } catch (...) {
    if (ranged_ != nullptr) ranged_->pop_range();
    throw;
  }
}

void LabelScope::name_nodes(Stream& stream, std::string_view label) {
  const auto recording = stream.state().recording();
  if (recording == nullptr || recording->thread != std::this_thread::get_id()) return;
  stream.state().labels_will_change();
  stream_ = stream.shared_state();
  stream_->labels.emplace_back(label);
}

LabelScope::~LabelScope() {
  if (ranged_ != nullptr) ranged_->pop_range();
  // Empty where the recording ended first and cleared the labels.
  if (stream_ == nullptr || stream_->labels.empty()) return;
  try {
    stream_->labels_will_change();
  } catch (const std::exception&) {
    // A recording found broken here was marked as spoilt: its end throws.
  }
  stream_->labels.pop_back();
}

}  // namespace reprise
