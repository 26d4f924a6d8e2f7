// SPDX-License-Identifier: Apache-2.0
#include "device/host/device.h"

#include <fmt/format.h>

#include "device/checks.h"
#include "device/host/event.h"
#include "device/host/machine.h"
#include "device/host/stream.h"
#include "device/mapping_table.h"

namespace reprise {

std::unique_ptr<DeviceState> open_host_backend(int ordinal) {
  if (ordinal != 0) {
    throw DeviceError(
        fmt::format("device host:{} is not there; there is one host device", ordinal));
  }
  return std::make_unique<host::HostDevice>(host::HostOptions{});
}

namespace host {
namespace {

constexpr int kMostThreads = 1024;

int checked_threads(int wanted) {
  if (wanted < 0 || wanted > kMostThreads) {
    throw UsageError(
        fmt::format("HostOptions::threads is {}; it must lie in 0 … {} (0: as many as "
                    "the process may use)",
                    wanted, kMostThreads));
  }
  return wanted == 0 ? usable_threads() : wanted;
}

HostDevice& host_device(Device& device, std::string_view call) {
  if (device.kind() != DeviceKind::host) {
    throw UsageError(
        fmt::format("{} on device {}: it works on the host device only", call, device.label()));
  }
  return static_cast<HostDevice&>(device.state());
}

}  // namespace

HostDevice::HostDevice(const HostOptions& options)
    : memory_(options.memory_limit), pool_(checked_threads(options.threads)) {
  properties.kind = DeviceKind::host;
  properties.name = cpu_model();
  properties.driver = "none";
  properties.total_memory = memory_.total();
  properties.multiprocessors = pool_.threads();
}

void* HostDevice::allocate(std::size_t bytes, MemorySpace) { return memory_.allocate(bytes); }

void HostDevice::free(void* data, std::size_t bytes, MemorySpace) noexcept {
  wait_for_work();
  memory_.free(data, bytes);
}

void HostDevice::release_addresses(void* data, std::size_t bytes,
                                   const MappingTable& mapped) noexcept {
  memory_.release(data, bytes, mapped.mapped_bytes());
}

bool HostDevice::wait_for_work() noexcept {
  // A worker must not wait for the others: one of them may be waiting for it.
  if (Queue::on_worker()) return false;
  for (const auto& stream : live_streams()) static_cast<HostStream&>(*stream).queue().wait_idle();
  return true;
}

std::shared_ptr<StreamState> HostDevice::create_stream(std::string name) {
  return std::make_shared<HostStream>(*this, std::move(name));
}

std::shared_ptr<StreamState> HostDevice::create_default_stream() {
  return std::make_shared<HostStream>(*this, "default");
}

std::unique_ptr<EventState> HostDevice::create_event() { return std::make_unique<HostEvent>(); }

void enqueue(Stream& stream, std::string_view label, Task task) {
  host_device(stream.device(), "host::enqueue");
  if (!task) throw UsageError(fmt::format("host::enqueue: the task '{}' is empty", label));
  StreamState& state = stream.state();
  const auto recording = checks::admit_work(state, "host::enqueue");
  static_cast<HostStream&>(state).enqueue(label, std::move(task));
  if (recording != nullptr) recording->note_work(state, state.full_label(label));
}

std::shared_ptr<Device> open(const HostOptions& options) {
  return std::make_shared<Device>(std::make_unique<HostDevice>(options));
}

void parallel_for(Device& device, std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  host_device(device, "host::parallel_for").pool().parallel_for(count, grain, body);
}

}  // namespace host
}  // namespace reprise
