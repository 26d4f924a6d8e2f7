// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/status.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "device/checks.h"

namespace reprise::cuda {
namespace {

/// One of CUDA's capture errors: what it means here, and what to do.
struct FaultRow {
  cudaError_t status;
  CaptureFault fault;
  std::string_view meaning;
  std::string_view fix;
};

constexpr std::array<FaultRow, 9> kFaults{{
    {cudaErrorStreamCaptureUnsupported, CaptureFault::refused,
     "the call may not stand inside a recording", "move it out of the recorded function"},
    {cudaErrorStreamCaptureInvalidated, CaptureFault::invalidated,
     "something outside this library ended the recording, such as a device-wide synchronise or a "
     "wait for the recording stream, on any thread",
     "keep raw CUDA calls of that kind out of the process while it records, then record again "
     "(a RecordingWatch names the call)"},
    {cudaErrorStreamCaptureMerge, CaptureFault::merged, "two recordings cannot be merged",
     "wait for the other recording's event after both have ended"},
    {cudaErrorStreamCaptureUnmatched, CaptureFault::unmatched,
     "the recording did not begin on this stream", "end it on its own stream"},
    {cudaErrorStreamCaptureUnjoined, CaptureFault::unjoined,
     "a stream joined the recording and was not joined back",
     "record an event on it after its last work and let the recording stream wait for that event"},
    {cudaErrorStreamCaptureIsolation, CaptureFault::isolated,
     "the work depends on something outside the recording", "wait for it before recording"},
    {cudaErrorStreamCaptureImplicit, CaptureFault::refused,
     "the call would wait for a recording stream through the default stream",
     "use non-blocking streams and leave the default stream alone while recording"},
    {cudaErrorCapturedEvent, CaptureFault::captured_event, "the event lives only in a recording",
     "record it outside before asking about it"},
    {cudaErrorStreamCaptureWrongThread, CaptureFault::wrong_thread,
     "the recording was begun on another thread", "use the stream on that thread only until then"},
}};

const FaultRow* fault_row(cudaError_t status) noexcept {
  const auto* const row = std::find_if(kFaults.begin(), kFaults.end(), [&](const FaultRow& known) {
    return known.status == status;
  });
  return row == kFaults.end() ? nullptr : row;
}

std::string recording_text(const LiveRecording* recording) {
  if (recording == nullptr) return "no recording of this library is live on it";
  std::string text = fmt::format("stream '{}' is recording (recording {}, {}",
                                 recording->origin_name, recording->id, recording->progress());
  const auto joined = recording->joined();
  for (std::size_t i = 0; i < joined.size(); ++i) {
    text += fmt::format("{} '{}'", i == 0 ? "; joined by" : ",", joined[i]->name);
  }
  text += ")";
  const std::string blamed = recording->blamed();
  return blamed.empty() ? text : text + "; seen by the watch: " + blamed;
}

[[noreturn]] void fail_plain(cudaError_t status, DeviceState& device, std::string_view call,
                             const std::string& target) {
  const std::string text = fmt::format("{} on {}: {}", call, target, describe(status));
  if (is_sticky(status)) {
    device.mark_lost(text, static_cast<int>(status));
    device.require_usable();  // throws with the first cause
  }
  throw DeviceError(text, static_cast<int>(status));
}

}  // namespace

std::string describe(cudaError_t status) {
  return fmt::format("{} ({}, {})", cudaGetErrorName(status), static_cast<int>(status),
                     cudaGetErrorString(status));
}

bool is_sticky(cudaError_t status) noexcept {
  // By number where not every toolkit has the name.
  constexpr int kContained = 226;
  constexpr int kTensorMemoryLeak = 721;
  switch (static_cast<int>(status)) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case kContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case kTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
      return true;
    default:
      return false;
  }
}

std::string capture_fault_text(cudaError_t status, std::string_view call, std::string_view target,
                               const LiveRecording* recording) {
  const FaultRow* const row = fault_row(status);
  return fmt::format("{} on {} from thread {} is refused by CUDA: {}: {}; {}; {}", call, target,
                     checks::thread_number(), describe(status), row->meaning,
                     recording_text(recording), row->fix);
}

void fail(cudaError_t status, DeviceState& device, std::string_view call) {
  cudaGetLastError();
  const FaultRow* const row = fault_row(status);
  const std::string target = "device " + device.label();
  if (row == nullptr) fail_plain(status, device, call, target);
  const auto live = recordings::of_this_thread(device.properties.kind, device.properties.ordinal);
  checks::fail(device, row->fault, capture_fault_text(status, call, target, live.get()));
}

void fail(cudaError_t status, StreamState& stream, std::string_view call) {
  cudaGetLastError();
  DeviceState& device = *stream.owner;
  const FaultRow* const row = fault_row(status);
  const std::string target = checks::describe(stream);
  if (row == nullptr) fail_plain(status, device, call, target);
  auto live = stream.recording();
  if (live == nullptr) {
    live = recordings::of_this_thread(device.properties.kind, device.properties.ordinal);
  }
  checks::fail(device, row->fault, capture_fault_text(status, call, target, live.get()));
}

void fail_end_of_capture(cudaError_t status, StreamState& origin, const LiveRecording* recording) {
  cudaGetLastError();
  const FaultRow* const row = fault_row(status);
  const std::string target = checks::describe(origin);
  if (row == nullptr) fail_plain(status, *origin.owner, "capture", target);
  throw CaptureError(row->fault, capture_fault_text(status, "capture", target, recording));
}

}  // namespace reprise::cuda
