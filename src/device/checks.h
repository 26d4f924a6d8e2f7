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

/// Refuses a call that the recording thread may not make anywhere on the device.
void refuse_on_recording_thread(const DeviceState& device, std::string_view call,
                                std::string_view target, std::string_view fix);
/// Refuses, from any thread, a call that may not be made on a stream that records; and, on a thread
/// that records, the same call on any other stream.
void refuse_wait(StreamState& stream, std::string_view call, std::string_view target,
                 std::string_view fix);
/// Refuses, from any thread, a call that may not be made on a stream that records.
void refuse_if_recording(StreamState& stream, std::string_view call, std::string_view target,
                         std::string_view fix);
/// Refuses to ask about an event that lives only in a recording.
void refuse_captured_event(const EventState& event, std::string_view call);

}  // namespace reprise::checks
