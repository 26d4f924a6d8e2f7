// SPDX-License-Identifier: Apache-2.0
// Recorded nodes by the part of the step they belong to.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <reprise/graph.h>

namespace reprise {

/// Nodes whose labels begin alike.
struct NodeGroup {
  std::string label;  ///< "layer 0"; "" for nodes that nobody named
  std::size_t nodes = 0;
  std::size_t bytes = 0;                     ///< moved by copies and fills
  std::map<std::string, std::size_t> kinds;  ///< nodes by kind
};

/// Groups nodes by their labels up to the first " / ", in the order in which each group first
/// appears.
std::vector<NodeGroup> group_nodes(const std::vector<GraphNode>& nodes);

}  // namespace reprise
