// SPDX-License-Identifier: Apache-2.0
// Opt-in header for steps that run on the host device: how to enqueue a C++ function as a kernel.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include <reprise/device.h>
#include <reprise/launch_declaration.h>

namespace reprise::host {

/// Work of a host kernel. It runs on the stream's worker thread: at once in eager use, once per
/// replay when recorded. Capture by value, and only addresses that outlive the last replay. It must
/// not call Reprise. If it throws, the device is lost, as after a fault on a GPU.
using Task = std::function<void()>;

/// Enqueues `task`. `label` names the node under the stream's label scopes.
void enqueue(Stream& stream, std::string_view label, Task task);
/// The same with what the task would declare as a kernel of a GPU. Tasks run in order whatever they
/// declare; the declaration is checked, and shown in graphs, as on a GPU.
void enqueue(Stream& stream, std::string_view label, const LaunchDeclaration& declaration,
             Task task);

struct HostOptions {
  int threads = 0;               ///< threads that compute; 0: as many as the process may use
  std::size_t memory_limit = 0;  ///< bytes the device will give; 0: the machine's memory
};

/// A host device with options; Device::open("host") uses the defaults.
std::shared_ptr<Device> open(const HostOptions& options);

/// Splits [0, count) into ranges of at least `grain` and calls body(begin, end) for each on the
/// device's compute threads; returns when all are done. Call it from inside a Task only.
void parallel_for(Device& device, std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace reprise::host
