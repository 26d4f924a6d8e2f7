// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <reprise/debug_replay.h>

#include "device/backend.h"
#include "device/checks.h"
#include "graph/stamped_exec.h"

namespace reprise {
namespace {

constexpr std::size_t kMostNamed = 8;

std::string describe(std::size_t index, const GraphNode& node) {
  std::string text = fmt::format("node {} ({}", index, node.kind);
  if (!node.label.empty()) text += fmt::format(" '{}'", node.label);
  if (!node.function.empty() && node.function != node.label) text += ", " + node.function;
  return text + ')';
}

/// Nodes that may have been running: they have not ended, and all that they wait for has.
std::vector<std::size_t> begun(const std::vector<GraphNode>& nodes,
                               const std::vector<std::uint64_t>& stamps) {
  const auto ended = [&](std::size_t node) { return stamps[2 + 2 * node] != 0; };
  // A device that writes down starts tells exactly.
  const bool starts_known = std::any_of(nodes.begin(), nodes.end(), [&](const GraphNode& node) {
    return stamps[1 + 2 * static_cast<std::size_t>(&node - nodes.data())] != 0;
  });
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (ended(i)) continue;
    const auto& before = nodes[i].dependencies;
    if (starts_known ? stamps[1 + 2 * i] != 0 : std::all_of(before.begin(), before.end(), ended)) {
      found.push_back(i);
    }
  }
  return found;
}

std::string where(const std::vector<GraphNode>& nodes, const std::vector<std::uint64_t>& stamps) {
  if (stamps[0] == 0) return "the replay had not begun";
  const std::vector<std::size_t> suspects = begun(nodes, stamps);
  if (suspects.empty()) return "all nodes of the replay had ended";
  std::string text =
      suspects.size() == 1 ? "the replay failed in " : "the replay failed in one of ";
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    if (i == kMostNamed) return text + fmt::format(" and {} more", suspects.size() - kMostNamed);
    text += (i == 0 ? "" : ", ") + describe(suspects[i], nodes[suspects[i]]);
  }
  return text;
}

}  // namespace

void debug_replay(const Graph& graph, Stream& stream) {
  checks::refuse_wait(
      stream.state(), "debug_replay", [&] { return checks::describe(stream.state()); },
      "replay after the recorded function");
  StampedExec exec(graph, MemorySpace::pinned);
  stream.synchronize();  // a fault of work before it is not the replay's
  exec.launch(stream);
  try {
    stream.synchronize();
  } catch (const DeviceError& fault) {
    throw DeviceError(
        fmt::format("{}; {}", fault.what(), where(graph.nodes(), exec.pinned_stamps())),
        fault.code());
  }
}

}  // namespace reprise
