// SPDX-License-Identifier: Apache-2.0
// A recording on the host device: closures, and which of them come before which.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "device/host/work.h"

namespace reprise::host {

/// Nodes that the next one of a stream comes after; ascending.
using Frontier = std::vector<std::uint32_t>;

/// Touched by the recording thread only, apart from `ended` and `thread`.
class Recording {
 public:
  const std::thread::id thread = std::this_thread::get_id();
  std::atomic<bool> ended{false};

  /// Adds a node behind `frontier`, which then holds that node only. `node` says what it is;
  /// dependencies and the like are filled in. `own`: the node that the stream recorded last, if
  /// any.
  void append(Work work, NodeInfo node, std::optional<std::uint32_t> own, Frontier& frontier);
  /// Adds `other` to `frontier`, without nodes that others of it come after anyway.
  void merge(Frontier& frontier, const Frontier& other) const;
  std::size_t size() const noexcept { return program_->work.size(); }
  std::shared_ptr<const Program> program() const noexcept { return program_; }

 private:
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
};

}  // namespace reprise::host
