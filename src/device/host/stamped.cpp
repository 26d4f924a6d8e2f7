// SPDX-License-Identifier: Apache-2.0
// Recorded graphs with the time written down round each node.
#include <chrono>

#include "device/host/graph.h"

namespace reprise::host {
namespace {

void append_stamp(Program& program, std::uint64_t* to) {
  Work work;
  work.kind = Work::Kind::task;
  work.label = "stamp";
  work.task = [to] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    *to = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
  };
  NodeInfo node;
  node.label = work.label;
  program.work.push_back(std::move(work));
  program.nodes.push_back(std::move(node));
}

}  // namespace

std::shared_ptr<ExecutableGraph> HostGraph::instantiate_stamped(std::uint64_t* stamps) const {
  // A program runs its nodes one after the other, so each has a true start.
  auto stamped = std::make_shared<Program>();
  append_stamp(*stamped, stamps);
  for (std::size_t i = 0; i < program_->work.size(); ++i) {
    append_stamp(*stamped, stamps + 1 + 2 * i);
    stamped->work.push_back(program_->work[i]);
    stamped->nodes.push_back(program_->nodes[i]);
    append_stamp(*stamped, stamps + 2 + 2 * i);
  }
  return std::make_shared<HostExecutable>(std::move(stamped));
}

}  // namespace reprise::host
