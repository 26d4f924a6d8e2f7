// SPDX-License-Identifier: Apache-2.0
#include "graph/lane.h"

#include <utility>

#include <fmt/format.h>

#include <reprise/error.h>

#include "device/checks.h"

namespace reprise {

Lane::Lane(Device& device, const std::string& name)
    : name_(name), stream_(device.create_stream(name)), fence_(device.create_event()) {}

Lane::Entry::Entry(Lane& lane, std::string_view call) : lane_(lane) {
  if (lane_.entered_.test_and_set(std::memory_order_acquire)) {
    throw UsageError(
        fmt::format("{} of '{}' was called while another call is inside; it is one lane: call it "
                    "from one thread "
                    "at a time, or make a second one for concurrency",
                    call, lane_.name_));
  }
}

Lane::Entry::~Entry() { lane_.entered_.clear(std::memory_order_release); }

void Lane::require_ready(const Stream& stream) const {
  const StreamState& state = stream.state();
  state.owner->require_usable();
  if (state.owner != stream_.state().owner) {
    throw UsageError(fmt::format("'{}' and {} belong to different device objects", name_,
                                 checks::describe(state)));
  }
  checks::refuse_wait(
      state, "a run", [&] { return fmt::format("'{}' on {}", name_, checks::describe(state)); },
      "run it after the recorded function");
  if (asleep()) {
    throw UsageError(fmt::format(
        "'{}' is asleep: its memory was given back; call SleepableMemory::wake() before it runs, "
        "is recorded or is read",
        name_));
  }
}

void Lane::rest_with(std::shared_ptr<const MemoryPool> memory,
                     std::shared_ptr<const SleepableMemory> sleepable) noexcept {
  memory_ = std::move(memory);
  sleepable_ = std::move(sleepable);
}

void Lane::order(Stream& stream) {
  require_ready(stream);
  if (last_ == stream.shared_state()) return;
  if (last_) {
    if (last_->recording()) {
      throw UsageError(fmt::format(
          "'{}' last ran on stream '{}', which is recording now; end that recording first", name_,
          last_->name));
    }
    // The fence is recorded when the stream changes, not on every run: it covers all earlier work.
    last_->record(fence_.state());
    fence_.state().set_mark({.recorded = true, .recording = nullptr, .clock = {}});
    stream.wait(fence_);
  }
  last_ = stream.shared_state();
}

}  // namespace reprise
