// SPDX-License-Identifier: Apache-2.0
#include "device/host/recording.h"

#include <algorithm>

namespace reprise::host {

void Recording::append(Work work, NodeInfo node, std::optional<std::uint32_t> own,
                       Frontier& frontier) {
  node.dependencies = frontier;
  node.function = work.label;
  node.bytes = work.bytes;
  // As on a GPU: nothing but a kernel of the same stream can be overtaken.
  if (node.declared.programmatic && own && frontier == Frontier{*own} &&
      program_->nodes[*own].kind == NodeKind::kernel) {
    node.programmatic = frontier;
  }
  node.attributes = (node.declared.programmatic ? 1U : 0U) | (node.programmatic.empty() ? 0U : 2U);
  frontier.assign(1, static_cast<std::uint32_t>(program_->work.size()));
  program_->work.push_back(std::move(work));
  program_->nodes.push_back(std::move(node));
}

void Recording::merge(Frontier& frontier, const Frontier& other) const {
  frontier.insert(frontier.end(), other.begin(), other.end());
  std::sort(frontier.begin(), frontier.end());
  frontier.erase(std::unique(frontier.begin(), frontier.end()), frontier.end());
  if (frontier.size() < 2) return;
  // Walks back from every member; a member that is met comes before another one.
  std::vector<bool> met(frontier.back() + 1, false);
  std::vector<std::uint32_t> open(frontier);
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    for (const std::uint32_t earlier : program_->nodes[node].dependencies) {
      if (met[earlier] || earlier < frontier.front()) continue;
      met[earlier] = true;
      open.push_back(earlier);
    }
  }
  std::erase_if(frontier, [&](std::uint32_t node) { return met[node]; });
}

}  // namespace reprise::host
