// SPDX-License-Identifier: Apache-2.0
// The recording rules of DESIGN §4.3, checked by the public classes before they call a backend.
// Each throws CaptureError with the full message. `call` is how the user spells it
// ("Stream::synchronize"), `fix` says what to do instead. A refusal on the recording thread spoils
// its recording.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "device/recordings.h"

namespace reprise::checks {

/// The system's number of the calling thread, as debuggers and messages show it.
long thread_number() noexcept;
/// "stream 'main' (host:0)".
std::string describe(const StreamState& stream);

/// Throws the fault; spoils the calling thread's own recording on the device first, if it has one.
[[noreturn]] void fail(const DeviceState& device, CaptureFault fault, const std::string& message);

/// What every call that enqueues work goes through. Returns the recording that takes the work, null
/// where it is to run. Throws DeviceError on a lost device and CaptureError for another thread's
/// work on a recording stream, or the recording thread's work on the default stream.
std::shared_ptr<LiveRecording> admit_work(StreamState& stream, std::string_view call);

/// True where the calling thread records on the device. No lock, no allocation where it
/// records nothing.
bool records_here(const DeviceState& device) noexcept;
[[noreturn]] void refuse_own(const DeviceState& device, std::string_view call,
                             std::string_view target, std::string_view fix);

/// Does nothing if the stream's recording has just ended.
void refuse_stream(const StreamState& stream, std::string_view call, std::string_view target,
                   std::string_view fix);

// In the next three `target` is called for what the message names, only if there is a message: they
// stand on the replay path, which builds no string.

/// Refuses a call that the recording thread may not make anywhere on the device.
template <class Target>
void refuse_on_recording_thread(const DeviceState& device, std::string_view call,
                                const Target& target, std::string_view fix) {
  if (records_here(device)) refuse_own(device, call, target(), fix);
}
/// Refuses, from any thread, a call that may not be made on a stream that records.
template <class Target>
void refuse_if_recording(const StreamState& stream, std::string_view call, const Target& target,
                         std::string_view fix) {
  if (stream.recording() != nullptr) refuse_stream(stream, call, target(), fix);
}
/// Both of them.
template <class Target>
void refuse_wait(const StreamState& stream, std::string_view call, const Target& target,
                 std::string_view fix) {
  refuse_if_recording(stream, call, target, fix);
  refuse_on_recording_thread(*stream.owner, call, target, fix);
}

/// Refuses to ask about an event that lives only in a recording.
void refuse_captured_event(const EventState& event, std::string_view call);

}  // namespace reprise::checks
