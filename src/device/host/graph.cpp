// SPDX-License-Identifier: Apache-2.0
#include "device/host/graph.h"

#include <algorithm>

#include "device/host/stream.h"

namespace reprise::host {

namespace {

bool same_structure(std::span<const NodeInfo> a, std::span<const NodeInfo> b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const NodeInfo& x, const NodeInfo& y) {
        return x.kind == y.kind && x.dependencies == y.dependencies &&
               std::equal(x.bodies.begin(), x.bodies.end(), y.bodies.begin(), y.bodies.end(),
                          [](const auto& p, const auto& q) { return same_structure(p, q); });
      });
}

}  // namespace

std::shared_ptr<ExecutableGraph> HostGraph::instantiate() const {
  return std::make_shared<HostExecutable>(program_);
}

void HostExecutable::launch(StreamState& stream) {
  Queue& queue = static_cast<HostStream&>(stream).queue();
  const std::lock_guard lock(mutex_);
  Item item;
  item.program = program_;
  if (last_progress_ != queue.progress()) {
    item.wait_for = last_progress_;
    item.wait_ticket = last_ticket_;
  }
  last_ticket_ = queue.push(std::move(item));
  last_progress_ = queue.progress();
}

UpdateOutcome HostExecutable::update(const RecordedGraph& graph) {
  const auto& other = static_cast<const HostGraph&>(graph);
  const std::lock_guard lock(mutex_);
  if (!same_structure(program_->nodes, other.nodes())) return UpdateOutcome::topology_differs;
  program_ = other.program();
  return UpdateOutcome::updated;
}

void HostExecutable::wait_idle() noexcept {
  std::shared_ptr<Progress> progress;
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    progress = last_progress_;
    ticket = last_ticket_;
  }
  if (progress != nullptr) progress->wait(ticket);
}

}  // namespace reprise::host
