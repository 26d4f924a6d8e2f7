// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <reprise/device.h>

#include "device/backend.h"
#include "device/checks.h"
#include "device/spec.h"

namespace reprise {
namespace {

Buffer make_buffer(Device& device, std::size_t bytes, MemorySpace space, std::string_view label,
                   std::string_view call) {
  DeviceState& state = device.state();
  state.require_usable();
  checks::refuse_on_recording_thread(
      state, call,
      [&] { return fmt::format("buffer '{}' of {} bytes ({})", label, bytes, state.label()); },
      "allocate before recording");
  auto buffer = std::make_unique<BufferState>();
  buffer->device = device.shared_from_this();
  buffer->bytes = bytes;
  buffer->space = space;
  buffer->label = label;
  try {
    buffer->data = state.allocate(bytes, space);
  } catch (const OutOfMemory& fault) {
    throw OutOfMemory(fmt::format("buffer '{}': {}", label, fault.what()), fault.code());
  }
  buffer->generation = state.next_generation.fetch_add(1);
  return Buffer(std::move(buffer));
}

}  // namespace

std::shared_ptr<Device> Device::open(std::string_view spec) {
  DeviceSpec wanted = parse_device_spec(spec);
  if (wanted.automatic && cuda_presence().usable) wanted.kind = DeviceKind::cuda;
  return std::make_shared<Device>(wanted.kind == DeviceKind::cuda
                                      ? open_cuda_backend(wanted.ordinal)
                                      : open_host_backend(wanted.ordinal));
}

Device::Device(std::unique_ptr<DeviceState> state) : state_(std::move(state)) {}

// The default stream's work may still use what the backend is about to take down.
Device::~Device() { state_->default_stream.reset(); }

const DeviceProperties& Device::properties() const noexcept { return state_->properties; }
std::string Device::label() const { return state_->label(); }

MemoryInfo Device::memory_info() const {
  state_->require_usable();
  return state_->memory_info();
}

Buffer Device::allocate(std::size_t bytes, std::string_view label) {
  return make_buffer(*this, bytes, MemorySpace::device, label, "Device::allocate");
}

Buffer Device::allocate_pinned(std::size_t bytes, std::string_view label) {
  return make_buffer(*this, bytes, MemorySpace::pinned, label, "Device::allocate_pinned");
}

Stream Device::create_stream(std::string name) {
  state_->require_usable();
  auto stream = state_->create_stream(std::move(name));
  stream->device = this;
  stream->keep_alive = shared_from_this();
  stream->owner = state_.get();
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->streams, [](const auto& known) { return known.expired(); });
  state_->streams.push_back(stream);
  return Stream(std::move(stream));
}

Stream& Device::default_stream() {
  state_->require_usable();
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->default_stream != nullptr) return *state_->default_stream;
  }
  // Not under the lock: a device that is found lost here wants it.
  auto stream = state_->create_default_stream();
  stream->device = this;
  stream->owner = state_.get();
  stream->is_default = true;
  const std::lock_guard lock(state_->mutex);
  if (state_->default_stream == nullptr) {  // else another thread was faster
    state_->streams.push_back(stream);
    state_->default_stream = std::make_unique<Stream>(std::move(stream));
  }
  return *state_->default_stream;
}

Event Device::create_event() {
  state_->require_usable();
  auto event = state_->create_event();
  event->device = shared_from_this();
  return Event(std::move(event));
}

void Device::synchronize() {
  state_->require_usable();
  checks::refuse_on_recording_thread(
      *state_, "Device::synchronize", [&] { return "device " + label(); },
      "move the call out of the recorded function");
  for (const auto& stream : state_->live_streams()) {
    if (stream->recording() == nullptr) stream->synchronize();
  }
  state_->require_usable();
}

bool Device::lost() const noexcept { return state_->lost.load(std::memory_order_acquire); }

}  // namespace reprise
