// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "device/checks.h"
#include "device/recordings.h"

namespace reprise {
namespace {

std::uint64_t& entry(RecordingClock& clock, const StreamState* stream) {
  for (auto& [key, count] : clock) {
    if (key == stream) return count;
  }
  return clock.emplace_back(stream, 0).second;
}

std::uint64_t count_of(const RecordingClock& clock, const StreamState* stream) {
  for (const auto& [key, count] : clock) {
    if (key == stream) return count;
  }
  return 0;
}

}  // namespace

LiveRecording::LiveRecording(std::uint64_t id_, DeviceKind kind_, int ordinal_,
                             StreamState& origin_, std::shared_ptr<LiveRecording> outer_)
    : id(id_),
      kind(kind_),
      ordinal(ordinal_),
      thread(std::this_thread::get_id()),
      thread_number(checks::thread_number()),
      origin(&origin_),
      origin_alive(origin_.weak_from_this()),
      origin_name(origin_.name),
      outer(std::move(outer_)) {}

const LiveRecording& LiveRecording::outermost() const noexcept {
  const LiveRecording* found = this;
  while (found->outer != nullptr) found = found->outer.get();
  return *found;
}

bool LiveRecording::lies_in(const LiveRecording& other) const noexcept {
  for (const LiveRecording* around = outer.get(); around != nullptr; around = around->outer.get()) {
    if (around == &other) return true;
  }
  return false;
}

std::vector<std::shared_ptr<StreamState>> LiveRecording::joined() const {
  const std::lock_guard lock(mutex_);
  return joined_;
}

void LiveRecording::join(std::shared_ptr<StreamState> stream) {
  const std::lock_guard lock(mutex_);
  // Entering counts as work: a stream that joins has to be joined back even if it does nothing.
  ++entry(clock_locked(*stream), stream.get());
  joined_.push_back(std::move(stream));
}

RecordingClock& LiveRecording::clock_locked(const StreamState& stream) {
  for (auto& [key, clock] : clocks_) {
    if (key == &stream) return clock;
  }
  return clocks_.emplace_back(&stream, RecordingClock{}).second;
}

void LiveRecording::note_work(const StreamState& stream, std::string label) {
  const std::lock_guard lock(mutex_);
  ++entry(clock_locked(stream), &stream);
  ++nodes_;
  last_label_ = std::move(label);
}

RecordingClock LiveRecording::clock(const StreamState& stream) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, clock] : clocks_) {
    if (key == &stream) return clock;
  }
  return {};
}

void LiveRecording::advance(const StreamState& stream, const RecordingClock& clock) {
  const std::lock_guard lock(mutex_);
  RecordingClock& own = clock_locked(stream);
  for (const auto& [key, count] : clock) {
    std::uint64_t& known = entry(own, key);
    known = std::max(known, count);
  }
}

std::optional<std::string> LiveRecording::unjoined() const {
  const std::lock_guard lock(mutex_);
  RecordingClock reached;
  for (const auto& [key, clock] : clocks_) {
    if (key == origin) reached = clock;
  }
  for (const auto& [key, clock] : clocks_) {
    if (key != origin && count_of(clock, key) > count_of(reached, key)) return key->name;
  }
  return std::nullopt;
}

std::string LiveRecording::progress() const {
  const std::lock_guard lock(mutex_);
  if (nodes_ == 0) return "nothing so far";
  return fmt::format("{} node{} so far, the last one '{}'", nodes_, nodes_ == 1 ? "" : "s",
                     last_label_);
}

void LiveRecording::spoil(CaptureFault fault, std::string message) {
  const std::lock_guard lock(mutex_);
  if (spoilt_) return;
  spoilt_ = true;
  fault_ = fault;
  fault_message_ = std::move(message);
}

void LiveRecording::blame(std::string text) {
  if (outer != nullptr) return outer->blame(std::move(text));
  const std::lock_guard lock(mutex_);
  if (blamed_.empty()) blamed_ = std::move(text);
}

std::string LiveRecording::blamed() const {
  if (outer != nullptr) return outer->blamed();
  const std::lock_guard lock(mutex_);
  return blamed_;
}

bool LiveRecording::spoilt() const {
  const std::lock_guard lock(mutex_);
  return spoilt_;
}

void LiveRecording::throw_spoilt() const {
  const std::lock_guard lock(mutex_);
  throw CaptureError(fault_, fault_message_);
}

std::vector<std::shared_ptr<StreamState>> LiveRecording::end() {
  const std::lock_guard lock(mutex_);
  ended_.store(true, std::memory_order_release);
  clocks_.clear();
  return std::exchange(joined_, {});
}

}  // namespace reprise
