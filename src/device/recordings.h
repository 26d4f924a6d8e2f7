// SPDX-License-Identifier: Apache-2.0
// The process-wide table of live recordings, the only global of the project (DESIGN §2): it must
// span all Device objects, because a driver's recording rules hold for the whole process. Keyed by
// device kind and ordinal. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <reprise/device.h>
#include <reprise/error.h>

#include "device/backend.h"

namespace reprise {

/// A recording between begin and end. Thread safe.
class LiveRecording {
 public:
  /// `outer`: the recording that this one is a body of, null where it is none.
  LiveRecording(std::uint64_t id, DeviceKind kind, int ordinal, StreamState& origin,
                std::shared_ptr<LiveRecording> outer = nullptr);

  const std::uint64_t id;
  const DeviceKind kind;
  const int ordinal;
  const std::thread::id thread;
  const long thread_number;                       ///< the system's number of `thread`, for messages
  StreamState* const origin;                      ///< alive while this has not ended
  const std::weak_ptr<StreamState> origin_alive;  ///< the same, for other threads
  const std::string origin_name;
  const std::shared_ptr<LiveRecording> outer;

  /// The recording around all bodies; this one where it is no body.
  const LiveRecording& outermost() const noexcept;
  /// True where this is a body, at any depth, of `other`.
  bool lies_in(const LiveRecording& other) const noexcept;
  /// True while a body of it is recorded: no stream of it takes work then.
  bool suspended() const noexcept { return suspended_.load(std::memory_order_acquire); }
  void suspend(bool value) noexcept { suspended_.store(value, std::memory_order_release); }

  bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }

  /// Streams that joined by events, origin left out.
  std::vector<std::shared_ptr<StreamState>> joined() const;
  void join(std::shared_ptr<StreamState> stream);

  /// `stream` recorded one more node.
  void note_work(const StreamState& stream, std::string label);
  /// What comes before this point of `stream`, and: later work of `stream` comes after `clock`.
  RecordingClock clock(const StreamState& stream) const;
  void advance(const StreamState& stream, const RecordingClock& clock);
  /// Name of a joined stream whose work the origin has not waited for; none where all are joined.
  std::optional<std::string> unjoined() const;
  /// "2 nodes so far, the last one 'layer 0 / qkv'"; "nothing so far".
  std::string progress() const;

  /// The driver's number of the capture, from its beginning on; 0 before, and on the host.
  std::atomic<std::uint64_t> capture_id{0};

  /// Somebody was seen to do what ends a recording; messages about its end then say so. Of a body:
  /// the whole recording around it.
  void blame(std::string text);
  std::string blamed() const;  ///< "" where nobody was seen

  /// Keeps the first fault; commit then throws it even if the exception was swallowed.
  void spoil(CaptureFault fault, std::string message);
  bool spoilt() const;
  [[noreturn]] void throw_spoilt() const;

  /// Marks it ended and lets go of its streams. Called by recordings::close only.
  std::vector<std::shared_ptr<StreamState>> end();

 private:
  RecordingClock& clock_locked(const StreamState& stream);

  std::atomic<bool> ended_{false};
  std::atomic<bool> suspended_{false};
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<StreamState>> joined_;
  std::vector<std::pair<const StreamState*, RecordingClock>> clocks_;
  std::size_t nodes_ = 0;
  std::string last_label_;
  bool spoilt_ = false;
  CaptureFault fault_ = CaptureFault::invalidated;
  std::string fault_message_;
  std::string blamed_;
};

namespace recordings {

/// Opens a recording on `origin`; throws CaptureError{nested} if that stream, or this thread on
/// this device, records already, or {refused} on the default stream.
std::shared_ptr<LiveRecording> open(StreamState& origin);
/// Opens the recording of a body on `origin`, a stream of `outer`, which waits until it is closed.
/// To be called on the thread that records.
std::shared_ptr<LiveRecording> open_body(StreamState& origin, std::shared_ptr<LiveRecording> outer);
/// Closes it, detaches its streams, and runs what was deferred if it was the device's last. A
/// body's stream goes back to the recording around it. To be called on the thread that opened it.
void close(const std::shared_ptr<LiveRecording>& recording) noexcept;

/// The live recording of the calling thread on that device, the innermost body, or null. Takes no
/// lock on a thread that records nothing.
std::shared_ptr<LiveRecording> of_this_thread(DeviceKind kind, int ordinal) noexcept;
bool any_live(DeviceKind kind, int ordinal) noexcept;
/// All live recordings of the device, the oldest first.
std::vector<std::shared_ptr<LiveRecording>> all_live(DeviceKind kind, int ordinal);

/// Runs `action` now, or when the last live recording on the device ends (DESIGN §4.8). An action
/// must not throw.
void run_or_defer(DeviceKind kind, int ordinal, std::function<void()> action) noexcept;

}  // namespace recordings
}  // namespace reprise
