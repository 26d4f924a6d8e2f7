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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <reprise/device.h>
#include <reprise/launch_geometry.h>

namespace reprise {

class LiveRecording;
class MappingTable;
class StreamState;

/// How much of each stream's recorded work comes before a point: a vector clock over the streams of
/// one recording. Kept by the public classes, so that an unjoined stream has a name on every
/// device.
using RecordingClock = std::vector<std::pair<const StreamState*, std::uint64_t>>;

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
  std::uint64_t attributes = 0;          ///< hash of grid, block, shared memory, launch attributes
  std::optional<LaunchGeometry> launch;  ///< of a kernel, where the device has grids
};

enum class UpdateOutcome : std::uint8_t { updated, topology_differs, refused };

/// A finished recording.
class RecordedGraph {
 public:
  virtual ~RecordedGraph() = default;
  virtual std::span<const NodeInfo> nodes() const = 0;
  /// Throws DeviceError naming the offending node.
  virtual std::shared_ptr<class ExecutableGraph> instantiate() const = 0;
  /// One for looking at: each launch also writes down, in nanoseconds of the device's clock, when
  /// it began (stamps[0]) and when node i ended (stamps[2 + 2 i]); and when it started
  /// (stamps[1 + 2 i]) where the device knows better than that its dependencies had ended, else
  /// that word stays. What may run side by side still may, but programmatic edges become full ones.
  /// `stamps`: device or pinned memory that outlives the last launch. Throws DeviceError for a
  /// graph that cannot be looked at so.
  virtual std::shared_ptr<class ExecutableGraph> instantiate_stamped(std::uint64_t* stamps) const;
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

  /// Where the event was last recorded. Kept by Stream::record.
  struct Mark {
    bool recorded = false;                     ///< false: never recorded, waits for it do nothing
    std::shared_ptr<LiveRecording> recording;  ///< null: a real point in a stream
    RecordingClock clock;                      ///< what comes before it, inside `recording`
  };
  Mark mark() const {
    if (!in_recording()) return {.recorded = recorded(), .recording = nullptr, .clock = {}};
    const std::lock_guard lock(mark_mutex_);
    return mark_;
  }
  /// Takes no lock while the event stays outside of recordings: replay does this (DESIGN §4.10).
  void set_mark(Mark mark) {
    if (mark.recording == nullptr && !in_recording()) {
      recorded_.store(mark.recorded, std::memory_order_release);
      return;
    }
    const std::lock_guard lock(mark_mutex_);
    mark_ = std::move(mark);
    recorded_.store(mark_.recorded, std::memory_order_release);
    in_recording_.store(mark_.recording != nullptr, std::memory_order_release);
  }
  /// The same facts without the clock, and without a lock.
  bool recorded() const noexcept { return recorded_.load(std::memory_order_acquire); }
  bool in_recording() const noexcept { return in_recording_.load(std::memory_order_acquire); }

  std::shared_ptr<Device> device;  ///< set by Device::create_event

 private:
  std::atomic<bool> recorded_{false};
  std::atomic<bool> in_recording_{false};
  mutable std::mutex mark_mutex_;
  Mark mark_;  // valid while in_recording_
};

class StreamState : public std::enable_shared_from_this<StreamState> {
 public:
  virtual ~StreamState() = default;
  /// Enqueues, or records while capturing. Never blocks: Stream waits where a side is pageable.
  virtual void copy(MemoryView destination, MemoryView source) = 0;
  virtual void fill(MemoryView destination, std::uint8_t value) = 0;
  virtual void record(EventState& event) = 0;
  virtual void wait(const EventState& event) = 0;
  /// Another thread may begin to record on the stream while these run (Device::synchronize asks
  /// first, but the answer may be old): they must not harm that recording.
  virtual void synchronize() = 0;
  virtual bool query() = 0;

  virtual void begin_capture(std::shared_ptr<LiveRecording> recording) = 0;
  /// Called on the origin stream; whatever it throws, every stream of the recording is usable after
  /// it. The public side has found the recording unspoilt, joined and not empty before. Throws
  /// CaptureError for a recording the device itself found spoilt or unjoined.
  virtual std::shared_ptr<RecordedGraph> end_capture() = 0;
  virtual void discard_capture() noexcept = 0;
  /// Nodes so far; only while capturing.
  virtual std::size_t captured_nodes() const = 0;
  /// The open label scopes are about to change: work recorded so far belongs to the present ones.
  /// Called by the recording thread; for devices that see some of the work only afterwards.
  virtual void labels_will_change() {}

  // Set by Device when it makes the stream.
  Device* device = nullptr;
  std::shared_ptr<Device> keep_alive;  ///< the same; null for the default stream, which it owns
  DeviceState* owner = nullptr;        ///< the device's state; valid while the stream lives
  std::string name;
  bool is_default = false;
  std::vector<std::string> labels;  ///< open LabelScopes; touched by the recording thread only

  /// `leaf` under the open label scopes: "layer 0 / qkv".
  std::string full_label(std::string_view leaf) const;

  /// The recording this stream is part of, null otherwise. Takes no lock where it is null: replay
  /// asks this.
  std::shared_ptr<LiveRecording> recording() const {
    if (!in_recording_.load(std::memory_order_acquire)) return nullptr;
    const std::lock_guard lock(recording_mutex_);
    return recording_;
  }
  void set_recording(std::shared_ptr<LiveRecording> recording) {
    const std::lock_guard lock(recording_mutex_);
    recording_ = std::move(recording);
    in_recording_.store(recording_ != nullptr, std::memory_order_release);
  }

 private:
  std::atomic<bool> in_recording_{false};
  mutable std::mutex recording_mutex_;
  std::shared_ptr<LiveRecording> recording_;
};

struct DeviceState {
  virtual ~DeviceState() = default;
  virtual MemoryInfo memory_info() const = 0;
  virtual void* allocate(std::size_t bytes, MemorySpace space) = 0;  ///< throws OutOfMemory
  /// Waits for work in flight that may still use the memory (as cudaFree does).
  virtual void free(void* data, std::size_t bytes, MemorySpace space) noexcept = 0;

  // Address ranges. Sizes and offsets are multiples of the granularity and not 0; the public side
  // keeps the table of mappings, and unmaps each whole.
  /// Bytes, a power of two. Throws DeviceError where the device has no virtual-memory management.
  virtual std::size_t mapping_granularity() = 0;
  /// Aligned to the granularity. Throws DeviceError where there is no such stretch of addresses.
  virtual void* reserve_addresses(std::size_t bytes) = 0;
  /// Takes what is still mapped with it. Nothing uses the memory any more.
  virtual void release_addresses(void* data, std::size_t bytes,
                                 const MappingTable& mapped) noexcept = 0;
  /// Puts fresh memory behind addresses that have none. Throws OutOfMemory; changes nothing then.
  virtual void map(void* address, std::size_t bytes) = 0;
  /// The reverse, for what one map() mapped. Nothing uses the memory any more. Changes nothing
  /// where it throws.
  virtual void unmap(void* address, std::size_t bytes) = 0;
  /// Waits for what is enqueued on the device's streams; work that is being recorded is none. False
  /// where some of it could not be waited for, and may still run.
  virtual bool wait_for_work() noexcept = 0;

  virtual std::shared_ptr<StreamState> create_stream(std::string name) = 0;
  virtual std::shared_ptr<StreamState> create_default_stream() = 0;
  virtual std::unique_ptr<EventState> create_event() = 0;

  /// Ranges of the calling thread's time for a profiler; called only where `profiled`.
  /// register_range() returns the name's handle, which lives as long as the device.
  virtual const void* register_range(const std::string& /*name*/) { return nullptr; }
  virtual void push_range(const void* /*registered*/) noexcept {}
  virtual void push_range(std::string_view /*name*/) {}
  virtual void pop_range() noexcept {}

  std::string label() const;  ///< "host:0"
  /// Throws DeviceError with the first cause once the device is lost. Takes no lock before that.
  void require_usable() const;
  /// Keeps the first cause; `code` is the driver's.
  void mark_lost(std::string_view cause, int code = 0) noexcept;
  /// The streams that are alive, the default stream included.
  std::vector<std::shared_ptr<StreamState>> live_streams() const;

  DeviceProperties properties;
  bool profiled = false;  ///< a profiler listens to ranges; settled when the device is opened
  std::atomic<std::uint64_t> next_generation{1};
  std::atomic<bool> lost{false};
  mutable std::mutex mutex;  ///< guards the members below
  std::string lost_cause;    ///< set before `lost` and never again: free to read once that is true
  int lost_code = 0;
  std::vector<std::weak_ptr<StreamState>> streams;  ///< for Device::synchronize
  std::unique_ptr<Stream> default_stream;
};

/// Backends, chosen at link time by folder. Each throws DeviceError where it has no such device.
std::unique_ptr<DeviceState> open_host_backend(int ordinal);
std::unique_ptr<DeviceState> open_cuda_backend(int ordinal);
/// Whether a CUDA device could be opened.
struct CudaPresence {
  bool built = false;   ///< the build has a CUDA backend
  bool usable = false;  ///< there is a driver, and it has a device
  std::string reason;   ///< why it is not usable, as a clause: "no NVIDIA driver is installed"
};
CudaPresence cuda_presence();

}  // namespace reprise
