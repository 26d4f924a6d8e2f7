// SPDX-License-Identifier: Apache-2.0
#include "diag/graph_rows.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "diag/programmatic.h"

namespace reprise {
namespace {

std::vector<SectionRun> each_alone(std::size_t sections) {
  std::vector<SectionRun> runs;
  for (std::size_t i = 0; i < sections; ++i) {
    runs.push_back({.first = i, .count = 1, .folded = false});
  }
  return runs;
}

void add_rows(GraphRows& picture) {
  for (std::size_t run = 0; run < picture.runs.size(); ++run) {
    const auto [first, count, folded] = picture.runs[run];
    GraphRow together{.run = run, .nodes = {}, .sources = {}, .early = {}, .lane = 0};
    for (std::size_t section = first; section < first + count; ++section) {
      for (const std::uint32_t node : picture.sections[section].nodes) {
        if (folded) {
          together.nodes.push_back(node);
        } else {
          picture.rows.push_back(
              {.run = run, .nodes = {node}, .sources = {}, .early = {}, .lane = 0});
        }
      }
    }
    if (folded) picture.rows.push_back(std::move(together));
  }
}

void add_sources(std::span<const GraphNode> nodes, std::vector<GraphRow>& rows) {
  std::vector<std::size_t> row_of(nodes.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (const std::uint32_t node : rows[row].nodes) row_of[node] = row;
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::map<std::size_t, bool> early;  // by source
    for (const std::uint32_t node : rows[row].nodes) {
      for (const std::uint32_t from : nodes[node].dependencies) {
        if (row_of[from] == row) continue;
        bool& all = early.try_emplace(row_of[from], true).first->second;
        all = all && is_programmatic(nodes[node], from);
      }
    }
    for (const auto& [source, all] : early) {
      rows[row].sources.push_back(source);
      if (all) rows[row].early.push_back(source);
    }
  }
}

/// A row keeps its lane until the last row that comes after it, which may take the lane over.
std::size_t assign_lanes(std::vector<GraphRow>& rows) {
  std::vector<std::size_t> last_use(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    last_use[row] = row;
    for (const std::size_t source : rows[row].sources) last_use[source] = row;
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free;
  std::size_t lanes = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (const std::size_t source : rows[row].sources) {
      if (last_use[source] == row) free.push(rows[source].lane);
    }
    if (free.empty()) free.push(lanes++);
    rows[row].lane = free.top();
    free.pop();
    if (last_use[row] == row) free.push(rows[row].lane);
  }
  return lanes;
}

}  // namespace

GraphRows graph_rows(std::span<const GraphNode> nodes, bool folded) {
  GraphRows picture;
  picture.sections = outline(nodes);
  picture.runs = folded ? fold(picture.sections) : each_alone(picture.sections.size());
  add_rows(picture);
  add_sources(nodes, picture.rows);
  picture.lanes = assign_lanes(picture.rows);
  return picture;
}

}  // namespace reprise
