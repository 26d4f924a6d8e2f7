// SPDX-License-Identifier: Apache-2.0
#include "diag/programmatic.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"

namespace reprise {
namespace {

/// What stands between a node and the kernel that it was to overtake.
std::string what_broke(std::span<const GraphNode> nodes, const GraphNode& node) {
  for (const std::uint32_t before : node.dependencies) {
    const GraphNode& earlier = nodes[before];
    if (earlier.kind == "kernel") continue;
    return fmt::format("{} '{}'", earlier.kind,
                       earlier.label.empty() ? "(unnamed)" : printable(earlier.label));
  }
  return "an event or another stream";
}

}  // namespace

ProgrammaticEdges programmatic_edges(std::span<const GraphNode> nodes) {
  ProgrammaticEdges edges;
  for (const GraphNode& node : nodes) {
    if (node.programmatic_launch == ProgrammaticLaunch::unsupported) ++edges.unsupported;
    if (node.programmatic_launch != ProgrammaticLaunch::made || node.dependencies.empty()) continue;
    ++edges.launches;
    if (node.programmatic.size() == node.dependencies.size()) {
      ++edges.kept;
    } else {
      ++edges.broken[what_broke(nodes, node)];
    }
  }
  return edges;
}

std::string programmatic_text(const ProgrammaticEdges& edges) {
  std::string text;
  if (edges.launches > 0) {
    text = fmt::format("{} of {}", edges.kept, edges.launches);
    for (const auto& [what, count] : edges.broken) {
      text += fmt::format(", {} broken by {}", count, what);
    }
  }
  if (edges.unsupported > 0) {
    text += fmt::format("{}{} launched plainly: this device has no programmatic launch",
                        text.empty() ? "" : "; ", edges.unsupported);
  }
  return text;
}

bool is_programmatic(const GraphNode& node, std::uint32_t dependency) noexcept {
  return std::find(node.programmatic.begin(), node.programmatic.end(), dependency) !=
         node.programmatic.end();
}

}  // namespace reprise
