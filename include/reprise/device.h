// SPDX-License-Identifier: Apache-2.0
// The device seam: memory, streams, events. The same calls work on every device; only opt-in
// headers
// (<reprise/host.h>, <reprise/cuda.h>) know which one it is.
//
// Recording rules (DESIGN §4.3). While a stream records, these calls are refused *at the call* with
// a CaptureError that names call, stream, thread, the live recording and what it holds so far:
// synchronize, query, blocking and pageable copies, Buffer::to_host, allocations by the recording
// thread (reserving, mapping and unmapping addresses are such), work on the default stream by the
// recording thread, and work of another thread on a stream that records. A call refused on the
// recording thread spoils the recording, even if the exception is swallowed; a call refused on
// another thread leaves it alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <reprise/memory.h>

namespace reprise {

class AddressRange;  // <reprise/address_range.h>
class Buffer;
class Device;
class Event;
class Stream;
struct BufferState;  // in src/device/, as are the next three
struct DeviceState;
struct EventState;
class StreamState;

enum class DeviceKind : std::uint8_t { host, cuda };

constexpr std::string_view to_string(DeviceKind kind) noexcept {
  return kind == DeviceKind::host ? "host" : "cuda";
}

struct DeviceProperties {
  DeviceKind kind = DeviceKind::host;
  int ordinal = 0;
  std::string name;              ///< the product's name: "NVIDIA H200", or the CPU's model
  std::string driver;            ///< driver version; "none" on the host
  std::size_t total_memory = 0;  ///< bytes
  int multiprocessors = 0;       ///< on the host: threads that compute
  int compute_capability = 0;    ///< 90 for 9.0; 0 on the host
};

struct MemoryInfo {
  std::size_t free = 0;   ///< bytes the device could still give
  std::size_t total = 0;  ///< bytes
};

/// A device and all that belongs to it. Shared: streams, events and buffers keep it alive. Thread
/// safe.
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// Opens "auto" (cuda if one is usable, else host), "host", "cuda" or "cuda:N". Throws UsageError
  /// for any other text and DeviceError where the device is not there, saying how to get it.
  static std::shared_ptr<Device> open(std::string_view spec);

  explicit Device(std::unique_ptr<DeviceState> state);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceProperties& properties() const noexcept;
  DeviceKind kind() const noexcept { return properties().kind; }
  /// "host:0", "cuda:1": as messages name it.
  std::string label() const;
  MemoryInfo memory_info() const;

  /// Device memory straight from the driver, aligned to 256 bytes, contents undefined. `label`
  /// names it in messages and snapshots. Zero bytes are allowed. Throws OutOfMemory.
  Buffer allocate(std::size_t bytes, std::string_view label);
  /// Host memory the device can copy from and to asynchronously; otherwise as allocate().
  Buffer allocate_pinned(std::size_t bytes, std::string_view label);
  /// Addresses without memory behind them, at least `bytes` of them; costs no device memory. Zero
  /// bytes are allowed. Throws DeviceError where the device cannot do this or has no free stretch
  /// of addresses that long. Include <reprise/address_range.h> to call it.
  AddressRange reserve(std::size_t bytes, std::string_view label);

  /// A stream that never waits for the default stream. `name` is what messages call it.
  Stream create_stream(std::string name);
  /// The device's implicit stream, on which nothing can be recorded.
  Stream& default_stream();
  Event create_event();

  /// Waits for every stream that is not recording. Throws what asynchronous work threw.
  void synchronize();

  /// True after an error that only a new process (CUDA) or a new Device (host) cures; every later
  /// call on the device then throws DeviceError with the first cause.
  bool lost() const noexcept;

  DeviceState& state() noexcept { return *state_; }
  const DeviceState& state() const noexcept { return *state_; }

 private:
  std::unique_ptr<DeviceState> state_;
};

/// Owns one allocation. Move-only. The destructor waits for work in flight that may still use the
/// memory; while a recording is live on the device, freeing is put off until that has ended.
class Buffer {
 public:
  Buffer() noexcept;
  explicit Buffer(std::unique_ptr<BufferState> state);
  ~Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;

  explicit operator bool() const noexcept { return state_ != nullptr; }
  void* data() const noexcept;
  std::size_t bytes() const noexcept;
  MemorySpace space() const noexcept;
  const std::string& label() const noexcept;
  /// Unique among all allocations of the device's life, never 0.
  std::uint64_t generation() const noexcept;

  MemoryView view() const noexcept { return {data(), bytes(), space()}; }
  /// Throws UsageError where [offset, offset + bytes) does not lie inside.
  MemoryView view(std::size_t offset, std::size_t count) const;
  TensorView tensor(DType dtype, const Shape& shape) const;

  /// Copies the first `out.size()` bytes to the host after the work already on `stream`, and waits.
  void to_host(Stream& stream, std::span<std::byte> out) const;
  /// Copies from ordinary host memory, ordered on `stream`; returns when `in` may be reused.
  void from_host(Stream& stream, std::span<const std::byte> in);

 private:
  std::unique_ptr<BufferState> state_;
};

/// A queue of work that runs in order, asynchronously to the caller. Move-only. Calls are thread
/// safe; the order between threads is theirs to arrange. The destructor waits for the stream's work
/// and never throws; a stream destroyed while it records discards the recording.
class Stream {
 public:
  explicit Stream(std::shared_ptr<StreamState> state);
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  const std::string& name() const noexcept;
  Device& device() const noexcept;

  /// Copies the bytes of `source` to the start of `destination`. Asynchronous between device and
  /// pinned memory, blocking when either side is pageable. Throws UsageError if it does not fit.
  void copy(MemoryView destination, MemoryView source);
  /// Sets every byte.
  void fill(MemoryView destination, std::uint8_t value);

  /// Marks the point that later waits refer to; forks a recording when this stream records.
  void record(Event& event);
  /// Later work on this stream runs after the point last marked in `event` (nothing if there is
  /// none). On a stream of a recording this joins another stream to it, or back (DESIGN §4.1).
  void wait(const Event& event);

  /// Blocks until the stream's work is done. Throws what asynchronous work threw.
  void synchronize();
  /// True when the stream's work is done.
  bool query();
  /// True while this stream is part of a recording.
  bool recording() const noexcept;

  StreamState& state() noexcept { return *state_; }
  const StreamState& state() const noexcept { return *state_; }
  const std::shared_ptr<StreamState>& shared_state() const noexcept { return state_; }

 private:
  std::shared_ptr<StreamState> state_;
};

/// A point in a stream. Move-only.
class Event {
 public:
  explicit Event(std::unique_ptr<EventState> state);
  ~Event();
  Event(Event&&) noexcept;
  Event& operator=(Event&&) noexcept;

  void synchronize();
  bool query();
  /// Milliseconds between two points that were both reached; throws UsageError otherwise.
  double elapsed_ms_since(const Event& earlier) const;

  EventState& state() noexcept { return *state_; }
  const EventState& state() const noexcept { return *state_; }

 private:
  std::unique_ptr<EventState> state_;
};

/// Names the work that is enqueued on `stream` while it lives: nested scopes read as
/// "layer 3 / attention / qkv" in graphs, traces and messages. On a CUDA device each scope is also
/// a range of the calling thread for profilers (NVTX, domain "reprise"), recording or not. Costs a
/// comparison or two unless the stream records or a profiler listens. To be destroyed by the thread
/// that made it, last one first, and before the device.
class LabelScope {
 public:
  LabelScope(Stream& stream, std::string_view label);
  ~LabelScope();
  LabelScope(const LabelScope&) = delete;
  LabelScope& operator=(const LabelScope&) = delete;

 private:
  void name_nodes(Stream& stream, std::string_view label);

  // Null where this thread was not recording on the stream when the scope opened.
  std::shared_ptr<StreamState> stream_;
  DeviceState* ranged_ = nullptr;  // null: no profiler listens
};

}  // namespace reprise
