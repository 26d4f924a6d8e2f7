// SPDX-License-Identifier: Apache-2.0
#include "device/host/stream.h"

#include <fmt/format.h>

#include "device/host/event.h"
#include "device/host/graph.h"

namespace reprise::host {

HostStream::HostStream(DeviceState& owning, std::string stream_name) : queue_(owning, stream_name) {
  name = std::move(stream_name);
  owner = &owning;
}

void HostStream::leave_capture_locked() {
  capture_ = nullptr;
  frontier_.clear();
  last_.reset();
}

bool HostStream::capturing_locked() {
  if (capture_ != nullptr && capture_->ended.load()) leave_capture_locked();
  if (capture_ == nullptr) return false;
  // The public side has checked this; here it is certain, because the lock is held until the work
  // has found its place.
  if (capture_->thread != std::this_thread::get_id()) {
    throw CaptureError(CaptureFault::wrong_thread,
                       fmt::format("stream '{}' began to record on another thread while this call "
                                   "was on its way; order the two threads",
                                   name));
  }
  return true;
}

void HostStream::submit(Work work, NodeKind kind, std::string_view leaf,
                        const LaunchDeclaration& declaration) {
  const std::lock_guard lock(mutex_);
  if (capturing_locked()) {
    NodeInfo node;
    node.kind = kind;
    node.label = full_label(leaf);
    node.declared = keep(declaration);
    capture_->append(std::move(work), std::move(node), last_, frontier_);
    last_ = frontier_.front();
    return;
  }
  Item item;
  item.work = std::move(work);
  queue_.push(std::move(item));
}

void HostStream::copy(MemoryView destination, MemoryView source) {
  Work work;
  work.kind = Work::Kind::copy;
  work.destination = destination.data;
  work.source = source.data;
  work.bytes = source.bytes;
  const DeclaredRange written{.data = destination.data, .bytes = source.bytes};
  submit(std::move(work), NodeKind::copy, {}, {.writes = {&written, 1}});
}

void HostStream::fill(MemoryView destination, std::uint8_t value) {
  Work work;
  work.kind = Work::Kind::fill;
  work.destination = destination.data;
  work.value = value;
  work.bytes = destination.bytes;
  const DeclaredRange written{.data = destination.data, .bytes = destination.bytes};
  submit(std::move(work), NodeKind::fill, {}, {.writes = {&written, 1}});
}

void HostStream::enqueue(std::string_view label, const LaunchDeclaration& declaration, Task task) {
  Work work;
  work.kind = Work::Kind::task;
  work.task = std::move(task);
  work.label = label;
  submit(std::move(work), NodeKind::kernel, label, declaration);
}

void HostStream::record(EventState& event) {
  auto& host_event = static_cast<HostEvent&>(event);
  const std::lock_guard lock(mutex_);
  if (capturing_locked()) {
    host_event.record(capture_, frontier_);
  } else {
    host_event.record(queue_);
  }
}

void HostStream::wait(const EventState& event) {
  const HostEvent::Point point = static_cast<const HostEvent&>(event).point();
  const std::lock_guard lock(mutex_);
  const bool capturing = capturing_locked();
  if (point.recording != nullptr) {
    if (!capturing) {
      leave_capture_locked();
      capture_ = point.recording;
    }
    capture_->merge(frontier_, point.frontier);
    return;
  }
  // A stream's own earlier points are behind it by order.
  if (point.progress == nullptr || point.progress == queue_.progress()) return;
  Item item;
  item.wait_for = point.progress;
  item.wait_ticket = point.ticket;
  queue_.push(std::move(item));
}

void HostStream::synchronize() {
  queue_.wait_idle();
  owner->require_usable();
}

bool HostStream::query() {
  const bool idle = queue_.idle();
  owner->require_usable();
  return idle;
}

void HostStream::begin_capture(std::shared_ptr<LiveRecording>) {
  const std::lock_guard lock(mutex_);
  leave_capture_locked();
  capture_ = std::make_shared<Recording>();
}

std::shared_ptr<RecordedGraph> HostStream::end_capture() {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Recording> ended = capture_;
  leave_capture_locked();
  ended->ended = true;
  return std::make_shared<HostGraph>(ended->program());
}

void HostStream::discard_capture() noexcept {
  const std::lock_guard lock(mutex_);
  if (capture_ != nullptr) capture_->ended = true;
  leave_capture_locked();
}

HostStream::Target HostStream::exchange_target(Target next) {
  const std::lock_guard lock(mutex_);
  return {.recording = std::exchange(capture_, std::move(next.recording)),
          .frontier = std::exchange(frontier_, std::move(next.frontier)),
          .last = std::exchange(last_, next.last)};
}

void HostStream::append_conditional(Conditional node, std::vector<std::vector<NodeInfo>> bodies) {
  Work work;
  work.kind = Work::Kind::conditional;
  work.label = function_of(node.spec.kind);
  NodeInfo info;
  info.kind = NodeKind::conditional;
  info.label = full_label(node.spec.label);
  info.bodies = std::move(bodies);
  work.conditional = std::make_shared<const Conditional>(std::move(node));
  const std::lock_guard lock(mutex_);
  capture_->append(std::move(work), std::move(info), last_, frontier_);
  last_ = frontier_.front();
}

std::size_t HostStream::captured_nodes() const {
  const std::lock_guard lock(mutex_);
  return capture_ == nullptr ? 0 : capture_->size();
}

}  // namespace reprise::host
