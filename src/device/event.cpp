// SPDX-License-Identifier: Apache-2.0
// Events, and how they fork and join recordings (DESIGN §4.1).
#include <fmt/format.h>

#include "device/backend.h"
#include "device/checks.h"

namespace reprise {
namespace {

void require_same_device(const EventState& event, const StreamState& stream,
                         std::string_view call) {
  if (&event.device->state() == stream.owner) return;
  throw UsageError(fmt::format("{} on {}: the event belongs to another device object", call,
                               checks::describe(stream)));
}

std::string prefix(const StreamState& stream) {
  return fmt::format("Stream::wait on {} from thread {} is refused: ", checks::describe(stream),
                     checks::thread_number());
}

/// `recording` is the one that `stream` is part of, null where it is none.
void wait_for_captured(StreamState& stream, const std::shared_ptr<LiveRecording>& recording,
                       const EventState& event, const EventState::Mark& mark) {
  LiveRecording& source = *mark.recording;
  if (source.ended()) {
    checks::fail(*stream.owner, CaptureFault::captured_event,
                 prefix(stream) +
                     fmt::format("the event was recorded inside recording {} of stream '{}', which "
                                 "has ended; record the event again before waiting for it",
                                 source.id, source.origin_name));
  }
  if (recording != nullptr && recording->lies_in(source)) {
    checks::fail(
        *stream.owner, CaptureFault::isolated,
        prefix(stream) +
            fmt::format("the event was recorded outside of the body that stream '{}' records "
                        "(recording {}, {}); let the stream wait for it before the loop or branch",
                        recording->origin_name, recording->id, recording->progress()));
  }
  if (recording != nullptr && recording != mark.recording) {
    checks::fail(
        *stream.owner, CaptureFault::merged,
        prefix(stream) +
            fmt::format("the event belongs to recording {} of stream '{}', the stream to "
                        "recording {} of stream '{}' ({}); two recordings cannot be merged",
                        source.id, source.origin_name, recording->id, recording->origin_name,
                        recording->progress()));
  }
  if (source.thread != std::this_thread::get_id()) {
    checks::fail(
        *stream.owner, CaptureFault::wrong_thread,
        prefix(stream) + fmt::format("the event belongs to recording {} of stream '{}' ({}), which "
                                     "only thread {} may extend; wait for it on that thread",
                                     source.id, source.origin_name, source.progress(),
                                     source.thread_number));
  }
  stream.wait(event);
  if (recording == nullptr) {
    stream.labels.clear();
    mark.recording->join(stream.shared_from_this());
    stream.set_recording(mark.recording);
  }
  source.advance(stream, mark.clock);
}

}  // namespace

void Stream::record(Event& event) {
  const auto recording = checks::admit_work(*state_, "Stream::record");
  require_same_device(event.state(), *state_, "Stream::record");
  state_->record(event.state());
  EventState::Mark mark{.recorded = true, .recording = recording, .clock = {}};
  if (recording != nullptr) mark.clock = recording->clock(*state_);
  event.state().set_mark(std::move(mark));
}

void Stream::wait(const Event& event) {
  const auto recording = checks::admit_work(*state_, "Stream::wait");
  require_same_device(event.state(), *state_, "Stream::wait");
  const EventState::Mark mark = event.state().mark();
  if (!mark.recorded) return;
  if (mark.recording != nullptr) {
    wait_for_captured(*state_, recording, event.state(), mark);
    return;
  }
  if (recording != nullptr) {
    checks::fail(*state_->owner, CaptureFault::isolated,
                 prefix(*state_) +
                     fmt::format("stream '{}' is recording (recording {}, {}) and the event was "
                                 "recorded outside of it; wait for it before recording",
                                 recording->origin_name, recording->id, recording->progress()));
  }
  state_->wait(event.state());
}

Event::Event(std::unique_ptr<EventState> state) : state_(std::move(state)) {}

Event::~Event() {
  if (state_ == nullptr) return;
  const DeviceProperties& properties = state_->device->properties();
  if (!recordings::any_live(properties.kind, properties.ordinal)) return;
  std::shared_ptr<EventState> state = std::move(state_);
  recordings::run_or_defer(properties.kind, properties.ordinal, [kept = std::move(state)] {});
}

Event::Event(Event&&) noexcept = default;

Event& Event::operator=(Event&& other) noexcept {
  if (this != &other) {
    const Event old(std::move(*this));
    state_ = std::move(other.state_);
  }
  return *this;
}

void Event::synchronize() {
  DeviceState& device = state_->device->state();
  device.require_usable();
  checks::refuse_captured_event(*state_, "Event::synchronize");
  checks::refuse_on_recording_thread(
      device, "Event::synchronize", [&] { return "an event (" + device.label() + ")"; },
      "move the call out of the recorded function");
  if (state_->recorded()) state_->synchronize();
}

bool Event::query() {
  DeviceState& device = state_->device->state();
  device.require_usable();
  checks::refuse_captured_event(*state_, "Event::query");
  checks::refuse_on_recording_thread(
      device, "Event::query", [&] { return "an event (" + device.label() + ")"; },
      "move the call out of the recorded function");
  return !state_->recorded() || state_->query();
}

double Event::elapsed_ms_since(const Event& earlier) const {
  state_->device->state().require_usable();
  for (const Event* event : {this, &earlier}) {
    checks::refuse_captured_event(*event->state_, "Event::elapsed_ms_since");
    if (!event->state_->recorded() || !event->state_->query()) {
      throw UsageError(
          fmt::format("Event::elapsed_ms_since: the {} event was not reached; record and "
                      "synchronize both first",
                      event == this ? "later" : "earlier"));
    }
  }
  return state_->elapsed_ms_since(*earlier.state_);
}

}  // namespace reprise
