// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "device/backend.h"

namespace reprise {

std::shared_ptr<ExecutableGraph> RecordedGraph::instantiate_stamped(std::uint64_t*) const {
  throw DeviceError("the nodes of this recording cannot be timed: it is of no device");
}

std::string StreamState::full_label(std::string_view leaf) const {
  std::string text;
  for (const std::string& label : labels) {
    if (!text.empty()) text += " / ";
    text += label;
  }
  if (leaf.empty()) return text;
  if (!text.empty()) text += " / ";
  return text.append(leaf);
}

std::string DeviceState::label() const {
  return fmt::format("{}:{}", to_string(properties.kind), properties.ordinal);
}

void DeviceState::require_usable() const {
  if (!lost.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex);
  const bool host = properties.kind == DeviceKind::host;
  throw DeviceError(fmt::format("device {} is lost: {}; {}", label(), lost_cause,
                                host ? "open the device anew" : "start the process anew"),
                    lost_code);
}

void DeviceState::mark_lost(std::string_view cause, int code) noexcept {
  const std::lock_guard lock(mutex);
  if (lost.load(std::memory_order_acquire)) return;
  lost_cause = cause;
  lost_code = code;
  lost.store(true, std::memory_order_release);
}

std::vector<std::shared_ptr<StreamState>> DeviceState::live_streams() const {
  std::vector<std::shared_ptr<StreamState>> alive;
  const std::lock_guard lock(mutex);
  for (const auto& stream : streams) {
    if (auto locked = stream.lock()) alive.push_back(std::move(locked));
  }
  return alive;
}

}  // namespace reprise
