// SPDX-License-Identifier: Apache-2.0
// A graph as rows from top to bottom, the way histories of versions are drawn: every row has a dot
// in a lane, and an edge runs down the lane of where it begins and turns off to where it ends. No
// two edges of different nodes ever share a stretch of a lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <reprise/graph.h>

#include "diag/graph_outline.h"

namespace reprise {

/// One node, or a run of sections that another one stands for.
struct GraphRow {
  std::size_t run = 0;               ///< of `runs`
  std::vector<std::uint32_t> nodes;  ///< one, or those of all sections of the run
  std::vector<std::size_t> sources;  ///< rows above that it comes after; ascending
  std::vector<std::size_t> early;  ///< those of `sources` that it has programmatic edges from only
  std::size_t lane = 0;
};

struct GraphRows {
  std::vector<GraphSection> sections;
  std::vector<SectionRun> runs;  ///< with one section each where nothing is folded
  std::vector<GraphRow> rows;
  std::size_t lanes = 0;
};

/// `folded`: runs of equal sections become one row each.
GraphRows graph_rows(std::span<const GraphNode> nodes, bool folded);

}  // namespace reprise
