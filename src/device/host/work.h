// SPDX-License-Identifier: Apache-2.0
// What the host device runs: one operation, and a recorded list of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <reprise/host.h>

#include "device/conditional.h"

namespace reprise::host {

struct Conditional;

/// One operation. Copies and fills are spelled out rather than wrapped in a Task, so that enqueuing
/// them allocates nothing.
struct Work {
  enum class Kind : std::uint8_t { nothing, task, copy, fill, conditional };

  Kind kind = Kind::nothing;
  std::uint8_t value = 0;
  void* destination = nullptr;
  const void* source = nullptr;
  std::size_t bytes = 0;
  Task task;
  std::string label;                               ///< of a task
  std::shared_ptr<const Conditional> conditional;  ///< for a queue: run() leaves it alone

  void run() const {
    switch (kind) {
      case Kind::nothing:
      case Kind::conditional:
        return;
      case Kind::task:
        task();
        return;
      case Kind::copy:
        std::memmove(destination, source, bytes);
        return;
      case Kind::fill:
        std::memset(destination, value, bytes);
        return;
    }
  }
};

/// A finished recording: nodes in the order they were recorded, which respects their dependencies.
struct Program {
  std::vector<Work> work;
  std::vector<NodeInfo> nodes;
};

/// A loop or a branch of a program.
struct Conditional {
  ConditionalSpec spec;
  std::vector<std::shared_ptr<const Program>> bodies;
};

}  // namespace reprise::host
