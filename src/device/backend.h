// SPDX-License-Identifier: Apache-2.0
// What a device must implement. The public classes of <reprise/device.h> check the recording rules
// (device/recordings.h) and then call these; a backend never checks them again. So the refusals and
// their messages are the same on every device.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/device.h>

namespace reprise {

class LiveRecording;

enum class NodeKind : std::uint8_t { kernel, copy, fill, event, child, conditional, other };

constexpr std::string_view to_string(NodeKind kind) noexcept {
  switch (kind) {
    case NodeKind::kernel:
      return "kernel";
    case NodeKind::copy:
      return "copy";
    case NodeKind::fill:
      return "fill";
    case NodeKind::event:
      return "event";
    case NodeKind::child:
      return "child";
    case NodeKind::conditional:
      return "conditional";
    case NodeKind::other:
      return "other";
  }
  return "?";
}

/// One node of a recorded graph, as diagnostics and the structural signature see it.
struct NodeInfo {
  NodeKind kind = NodeKind::kernel;
  std::string label;                        ///< "layer 0 / qkv"
  std::vector<std::uint32_t> dependencies;  ///< indices of earlier nodes
  std::string function;                     ///< kernel's name; the label on the host
  std::size_t bytes = 0;                    ///< of a copy or fill
  std::uint64_t attributes = 0;  ///< hash of grid, block, shared memory, launch attributes
};

enum class UpdateOutcome : std::uint8_t { updated, topology_differs, refused };

class StreamState;

/// A finished recording.
class RecordedGraph {
 public:
  virtual ~RecordedGraph() = default;
  virtual std::span<const NodeInfo> nodes() const = 0;
  /// Throws DeviceError naming the offending node.
  virtual std::shared_ptr<class ExecutableGraph> instantiate() const = 0;
};

/// What is launched. One launch at a time runs: a launch waits for the one before, on any stream.
class ExecutableGraph {
 public:
  virtual ~ExecutableGraph() = default;
  /// Pays the first launch's set-up ahead of time, ordered on `stream`.
  virtual void upload(StreamState& stream) = 0;
  /// Allocates nothing and takes no lock on CUDA (DESIGN §4.10).
  virtual void launch(StreamState& stream) = 0;
  /// Re-points this executable at `graph`; on anything but `updated` the old one stays valid.
  virtual UpdateOutcome update(const RecordedGraph& graph) = 0;
  /// Blocks until no launch of it is in flight; never throws.
  virtual void wait_idle() noexcept = 0;
};

struct BufferState {
  std::shared_ptr<Device> device;
  void* data = nullptr;
  std::size_t bytes = 0;
  MemorySpace space = MemorySpace::device;
  std::string label;
  std::uint64_t generation = 0;
};

struct EventState {
  virtual ~EventState() = default;
  virtual void synchronize() = 0;
  virtual bool query() = 0;
  virtual double elapsed_ms_since(const EventState& earlier) const = 0;

  std::shared_ptr<Device> device;
  /// The recording in which the event was last recorded; 0: it is a real event. Set by Stream.
  std::atomic<std::uint64_t> recording_id{0};
  std::atomic<bool> recorded{false};
};

class StreamState : public std::enable_shared_from_this<StreamState> {
 public:
  virtual ~StreamState() = default;
  virtual void copy(MemoryView destination, MemoryView source) = 0;  ///< records when capturing
  virtual void fill(MemoryView destination, std::uint8_t value) = 0;
  virtual void record(EventState& event) = 0;
  virtual void wait(const EventState& event) = 0;
  virtual void synchronize() = 0;
  virtual bool query() = 0;

  virtual void begin_capture(std::shared_ptr<LiveRecording> recording) = 0;
  /// Ends on the origin stream and always leaves every stream of the recording usable. Throws
  /// CaptureError for a recording the device itself found spoilt or unjoined.
  virtual std::shared_ptr<RecordedGraph> end_capture() = 0;
  virtual void discard_capture() noexcept = 0;
  /// Nodes so far; only while capturing.
  virtual std::size_t captured_nodes() const = 0;

  std::weak_ptr<Device> device;
  DeviceState* owner = nullptr;  ///< the device's state; valid while the stream lives
  std::string name;
  bool is_default = false;
  std::vector<std::string> labels;  ///< open LabelScopes; touched by the recording thread only

  /// The recording this stream is part of, null otherwise.
  std::shared_ptr<LiveRecording> recording() const {
    const std::lock_guard lock(recording_mutex_);
    return recording_;
  }
  void set_recording(std::shared_ptr<LiveRecording> recording) {
    const std::lock_guard lock(recording_mutex_);
    recording_ = std::move(recording);
  }

 private:
  mutable std::mutex recording_mutex_;
  std::shared_ptr<LiveRecording> recording_;
};

struct DeviceState {
  virtual ~DeviceState() = default;
  virtual MemoryInfo memory_info() const = 0;
  virtual void* allocate(std::size_t bytes, MemorySpace space) = 0;  ///< throws OutOfMemory
  virtual void free(void* data, std::size_t bytes, MemorySpace space) noexcept = 0;
  virtual std::shared_ptr<StreamState> create_stream(Device& device, std::string name) = 0;
  virtual std::shared_ptr<StreamState> create_default_stream(Device& device) = 0;
  virtual std::unique_ptr<EventState> create_event() = 0;

  /// Throws DeviceError with the first cause once the device is lost.
  void require_usable() const;
  void mark_lost(std::string cause) noexcept;

  DeviceProperties properties;
  std::atomic<std::uint64_t> next_generation{1};
  std::atomic<bool> lost{false};
  mutable std::mutex mutex;  ///< guards the members below
  std::string lost_cause;
  std::vector<std::weak_ptr<StreamState>> streams;  ///< for Device::synchronize
  std::unique_ptr<Stream> default_stream;
};

/// Backends, chosen at link time by folder. Each throws DeviceError where it has no such device.
std::unique_ptr<DeviceState> open_host_backend(int ordinal);
std::unique_ptr<DeviceState> open_cuda_backend(int ordinal);
/// True where a CUDA device could be opened; never throws.
bool cuda_available() noexcept;

}  // namespace reprise
