// SPDX-License-Identifier: Apache-2.0
#include "diag/node_groups.h"

#include <unordered_map>

namespace reprise {

std::vector<NodeGroup> group_nodes(const std::vector<GraphNode>& nodes) {
  std::vector<NodeGroup> groups;
  std::unordered_map<std::string, std::size_t> places;
  for (const GraphNode& node : nodes) {
    const std::string label = node.label.substr(0, node.label.find(" / "));
    const auto [place, fresh] = places.try_emplace(label, groups.size());
    if (fresh) groups.emplace_back().label = label;
    NodeGroup& group = groups[place->second];
    group.nodes += 1;
    group.bytes += node.bytes;
    group.kinds[node.kind] += 1;
  }
  return groups;
}

}  // namespace reprise
