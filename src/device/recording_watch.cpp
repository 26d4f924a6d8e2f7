// SPDX-License-Identifier: Apache-2.0
#include <reprise/error.h>
#include <reprise/recording_watch.h>

#include "device/backend.h"
#include "device/call_watch.h"
#include "device/recordings.h"

namespace reprise {

RecordingWatch::RecordingWatch(std::shared_ptr<Device> device) : device_(std::move(device)) {
  DeviceState& state = device_->state();
  state.require_usable();
  if (recordings::any_live(state.properties.kind, state.properties.ordinal)) {
    throw UsageError("a RecordingWatch cannot begin on " + state.label() +
                     " while something records there; begin it before");
  }
  watch_ = state.watch_calls();
}

RecordingWatch::~RecordingWatch() = default;

std::vector<WatchedCall> RecordingWatch::calls() const {
  return watch_ == nullptr ? std::vector<WatchedCall>{} : watch_->calls();
}
std::uint64_t RecordingWatch::dropped() const { return watch_ == nullptr ? 0 : watch_->dropped(); }
std::uint64_t RecordingWatch::seen() const { return watch_ == nullptr ? 0 : watch_->seen(); }

}  // namespace reprise
