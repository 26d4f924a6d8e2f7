// SPDX-License-Identifier: Apache-2.0
// Recorded graphs and pools as tables for people. Labels are shown without control characters.
#pragma once

#include <string>

#include <reprise/graph.h>
#include <reprise/graph_pool.h>

namespace reprise {

/// One line per node (index, kind, bytes moved, nodes it comes after, with "~" those that it need
/// not await before it starts, label), then one per group of nodes (diag/node_groups.h), then the
/// sum and, where there are any, what became of programmatic launches.
std::string graph_text(const Graph& graph);

/// One line per size of the pool: state, nodes, replays, padded rows, fallbacks, why disabled.
std::string bucket_text(const GraphPool& pool);

}  // namespace reprise
