// SPDX-License-Identifier: Apache-2.0
#include "device/host/event.h"

namespace reprise::host {

HostEvent::Point HostEvent::point() const {
  const std::lock_guard lock(mutex_);
  return point_;
}

void HostEvent::synchronize() {
  const Point reached = point();
  if (reached.progress) reached.progress->wait(reached.ticket);
  device->state().require_usable();
}

bool HostEvent::query() {
  const Point asked = point();
  const bool reached = !asked.progress || asked.progress->reached(asked.ticket);
  device->state().require_usable();
  return reached;
}

double HostEvent::elapsed_ms_since(const EventState& earlier) const {
  const auto time_of = [](const HostEvent& event) {
    const std::lock_guard lock(event.timestamp_->mutex);
    return event.timestamp_->time;
  };
  const auto& start = static_cast<const HostEvent&>(earlier);
  return std::chrono::duration<double, std::milli>(time_of(*this) - time_of(start)).count();
}

void HostEvent::record(Queue& queue) {
  const std::lock_guard lock(mutex_);
  Item item;
  item.timestamp = timestamp_;
  {
    const std::lock_guard stamp(timestamp_->mutex);
    item.timestamp_number = ++timestamp_->latest;
  }
  point_.ticket = queue.push(std::move(item));
  point_.progress = queue.progress();
  point_.recording = nullptr;
  point_.frontier.clear();
}

void HostEvent::record(std::shared_ptr<Recording> recording, Frontier frontier) {
  const std::lock_guard lock(mutex_);
  point_ = {.progress = nullptr,
            .ticket = 0,
            .recording = std::move(recording),
            .frontier = std::move(frontier)};
}

}  // namespace reprise::host
