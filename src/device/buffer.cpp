// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "device/backend.h"
#include "device/checks.h"

namespace reprise {
namespace {

const std::string kNoLabel;

void free_now(const BufferState& state) noexcept {
  state.device->state().free(state.data, state.bytes, state.space);
}

BufferState& require(const std::unique_ptr<BufferState>& state, std::string_view call) {
  if (state == nullptr) {
    throw UsageError(
        fmt::format("{} on an empty buffer; it was never allocated or moved from", call));
  }
  return *state;
}

void require_same_device(const BufferState& buffer, const StreamState& stream,
                         std::string_view call) {
  if (&buffer.device->state() == stream.owner) return;
  throw UsageError(fmt::format("{}: buffer '{}' and stream '{}' belong to different devices", call,
                               buffer.label, stream.name));
}

}  // namespace

Buffer::Buffer(std::unique_ptr<BufferState> state) : state_(std::move(state)) {}

Buffer::~Buffer() {
  if (state_ == nullptr) return;
  const DeviceProperties& properties = state_->device->properties();
  if (!recordings::any_live(properties.kind, properties.ordinal)) {
    free_now(*state_);
    return;
  }
  std::shared_ptr<BufferState> state = std::move(state_);
  recordings::run_or_defer(properties.kind, properties.ordinal, [state] { free_now(*state); });
}

Buffer::Buffer() noexcept = default;
Buffer::Buffer(Buffer&&) noexcept = default;

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    const Buffer old(std::move(*this));
    state_ = std::move(other.state_);
  }
  return *this;
}

void* Buffer::data() const noexcept { return state_ ? state_->data : nullptr; }
std::size_t Buffer::bytes() const noexcept { return state_ ? state_->bytes : 0; }
MemorySpace Buffer::space() const noexcept { return state_ ? state_->space : MemorySpace::device; }
const std::string& Buffer::label() const noexcept { return state_ ? state_->label : kNoLabel; }
std::uint64_t Buffer::generation() const noexcept { return state_ ? state_->generation : 0; }

MemoryView Buffer::view(std::size_t offset, std::size_t count) const {
  if (offset > bytes() || count > bytes() - offset) {
    throw UsageError(fmt::format("buffer '{}' has {} bytes; [{}, {} + {}) does not lie inside",
                                 label(), bytes(), offset, offset, count));
  }
  return {static_cast<std::byte*>(data()) + offset, count, space()};
}

TensorView Buffer::tensor(DType dtype, const Shape& shape) const {
  const TensorView tensor{
      .data = data(), .dtype = dtype, .shape = shape, .space = space(), .generation = generation()};
  if (tensor.bytes() > bytes()) {
    throw UsageError(fmt::format("buffer '{}' has {} bytes; a tensor {} of {} needs {}", label(),
                                 bytes(), to_string(shape), to_string(dtype), tensor.bytes()));
  }
  return tensor;
}

void Buffer::to_host(Stream& stream, std::span<std::byte> out) const {
  const BufferState& state = require(state_, "Buffer::to_host");
  StreamState& target = stream.state();
  target.owner->require_usable();
  require_same_device(state, target, "Buffer::to_host");
  checks::refuse_wait(
      target, "Buffer::to_host",
      [&] { return fmt::format("buffer '{}' by {}", state.label, checks::describe(target)); },
      "read it after the recorded function, when a replay has run");
  if (out.size() > state.bytes) {
    throw UsageError(fmt::format("Buffer::to_host: buffer '{}' has {} bytes, {} were asked for",
                                 state.label, state.bytes, out.size()));
  }
  if (!out.empty()) {
    target.copy({out.data(), out.size(), MemorySpace::pageable}, view(0, out.size()));
  }
  target.synchronize();
}

void Buffer::from_host(Stream& stream, std::span<const std::byte> in) {
  const BufferState& state = require(state_, "Buffer::from_host");
  StreamState& target = stream.state();
  target.owner->require_usable();
  require_same_device(state, target, "Buffer::from_host");
  checks::refuse_wait(
      target, "Buffer::from_host",
      [&] { return fmt::format("buffer '{}' by {}", state.label, checks::describe(target)); },
      "fill it before recording, or record a copy from a pinned buffer");
  if (in.size() > state.bytes) {
    throw UsageError(fmt::format("Buffer::from_host: buffer '{}' has {} bytes, {} were given",
                                 state.label, state.bytes, in.size()));
  }
  if (!in.empty()) target.copy(view(0, in.size()), pageable(in));
  target.synchronize();
}

}  // namespace reprise
