// SPDX-License-Identifier: Apache-2.0
#include "device/checks.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reprise::checks {
namespace {

std::string refusal(const LiveRecording& recording, std::string_view call, std::string_view target,
                    std::string_view fix) {
  return fmt::format(
      "{} on {} from thread {} is refused: stream '{}' is recording (recording {}, {}); {}", call,
      target, thread_number(), recording.origin_name, recording.id, recording.progress(), fix);
}

std::shared_ptr<LiveRecording> own_recording(const DeviceState& device) {
  return recordings::of_this_thread(device.properties.kind, device.properties.ordinal);
}

}  // namespace

long thread_number() noexcept { return ::syscall(SYS_gettid); }

std::string describe(const StreamState& stream) {
  return fmt::format("stream '{}' ({})", stream.name, stream.owner->label());
}

void fail(const DeviceState& device, CaptureFault fault, const std::string& message) {
  if (const auto mine = own_recording(device)) mine->spoil(fault, message);
  throw CaptureError(fault, message);
}

std::shared_ptr<LiveRecording> admit_work(StreamState& stream, std::string_view call) {
  stream.owner->require_usable();
  std::shared_ptr<LiveRecording> recording = stream.recording();
  if (recording != nullptr) {
    if (recording->thread == std::this_thread::get_id()) {
      if (!recording->suspended()) return recording;
      fail(*stream.owner, CaptureFault::refused,
           refusal(*own_recording(*stream.owner), call, describe(stream),
                   "the stream belongs to the recording around this body and takes work again when "
                   "the body has ended; use the body's stream, or one that joins it by an event"));
    }
    fail(*stream.owner, CaptureFault::wrong_thread,
         refusal(*recording, call, describe(stream),
                 fmt::format("only thread {}, which records, may use the stream until "
                             "then; use another stream",
                             recording->thread_number)));
  }
  if (stream.is_default) {
    const auto mine = own_recording(*stream.owner);
    if (mine != nullptr) {
      fail(*stream.owner, CaptureFault::refused,
           refusal(*mine, call, describe(stream),
                   "the default stream cannot be recorded; use the recording stream, or one that "
                   "joins it by an event"));
    }
  }
  return nullptr;
}

bool records_here(const DeviceState& device) noexcept { return own_recording(device) != nullptr; }

void refuse_own(const DeviceState& device, std::string_view call, std::string_view target,
                std::string_view fix) {
  fail(device, CaptureFault::refused, refusal(*own_recording(device), call, target, fix));
}

void refuse_stream(const StreamState& stream, std::string_view call, std::string_view target,
                   std::string_view fix) {
  const auto recording = stream.recording();
  if (recording == nullptr) return;
  fail(*stream.owner, CaptureFault::refused, refusal(*recording, call, target, fix));
}

void refuse_captured_event(const EventState& event, std::string_view call) {
  if (!event.in_recording()) return;
  const auto recording = event.mark().recording;
  if (recording == nullptr) return;
  const DeviceState& device = event.device->state();
  fail(
      device, CaptureFault::captured_event,
      fmt::format(
          "{} ({}) from thread {} is refused: the event was recorded inside recording {} of "
          "stream '{}' and is a point of that recording only{}; record it outside before "
          "asking about it",
          call, device.label(), thread_number(), recording->id, recording->origin_name,
          recording->ended() ? " (which has ended)" : fmt::format(" ({})", recording->progress())));
}

}  // namespace reprise::checks
