// SPDX-License-Identifier: Apache-2.0
// The process-wide table of live recordings, the only global of the project (DESIGN §2): it must
// span all Device objects, because a driver's recording rules hold for the whole process. Keyed by
// device kind and ordinal. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <reprise/device.h>
#include <reprise/error.h>

namespace reprise {

class StreamState;

/// A recording between begin and end.
class LiveRecording {
 public:
  LiveRecording(std::uint64_t id, DeviceKind kind, int ordinal, StreamState& origin);

  const std::uint64_t id;
  const DeviceKind kind;
  const int ordinal;
  const std::thread::id thread;
  StreamState* const origin;
  const std::string origin_name;

  /// Streams that joined by events, origin left out.
  std::vector<std::shared_ptr<StreamState>> joined() const;
  void join(std::shared_ptr<StreamState> stream);

  void note_work(std::string label);
  /// "2 nodes so far, the last one 'layer 0 / qkv'"; "nothing so far".
  std::string progress() const;

  /// Keeps the first fault; commit then throws it even if the exception was swallowed.
  void spoil(CaptureFault fault, std::string message);
  bool spoilt() const;
  [[noreturn]] void throw_spoilt() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<StreamState>> joined_;
  std::size_t nodes_ = 0;
  std::string last_label_;
  bool spoilt_ = false;
  CaptureFault fault_ = CaptureFault::invalidated;
  std::string fault_message_;
};

namespace recordings {

/// Opens a recording on `origin`; throws CaptureError{nested} if that stream, or this thread on
/// this device, records already, or {refused} on the default stream.
std::shared_ptr<LiveRecording> open(StreamState& origin);
/// Closes it, detaches its streams, and runs what was deferred if it was the device's last.
void close(const std::shared_ptr<LiveRecording>& recording) noexcept;

/// The live recording of the calling thread on that device, or null. One atomic load when there is
/// no recording at all.
std::shared_ptr<LiveRecording> of_this_thread(DeviceKind kind, int ordinal) noexcept;
bool any_live(DeviceKind kind, int ordinal) noexcept;

/// Runs `action` now, or when the last live recording on the device ends (DESIGN §4.8). An action
/// must not throw.
void run_or_defer(DeviceKind kind, int ordinal, std::function<void()> action) noexcept;

/// The checks of DESIGN §4.3; each throws CaptureError with the full message.
/// `call` is how the user spells it ("Stream::synchronize"), `fix` one sentence.
void refuse_on_recording_thread(DeviceKind kind, int ordinal, std::string_view call,
                                std::string_view target, std::string_view fix);
/// Refuses work of a thread that does not own the recording `stream` is part of.
void refuse_foreign_thread(StreamState& stream, std::string_view call);
/// Refuses waiting for a stream that records, from any thread.
void refuse_if_recording(StreamState& stream, std::string_view call, std::string_view fix);

}  // namespace recordings
}  // namespace reprise
