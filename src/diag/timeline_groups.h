// SPDX-License-Identifier: Apache-2.0
// A timeline by kinds of nodes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/timeline.h>

namespace reprise {

/// Nodes whose labels are alike but for the numbers at the ends of their parts.
struct TimeGroup {
  std::string label;  ///< "layer * / attention / qkv"; of nodes that nobody named: their function
  std::size_t nodes = 0;
  double median_us = 0;    ///< median over the nodes of their medians
  double p99_us = 0;       ///< the largest of the nodes'
  double sum_us = 0;       ///< of their durations in the replay shown
  double interval_us = 0;  ///< of their intervals: those of all groups add up to the replay
  double beside_us = 0;    ///< of their durations beside others
};

/// "layer 12 / qkv" as "layer * / qkv".
std::string starred(std::string_view label);

/// In the order in which each group first appears. Throws UsageError unless `timeline` has a time
/// for each node.
std::vector<TimeGroup> time_groups(std::span<const GraphNode> nodes, const Timeline& timeline);

/// Two groups, and how long nodes of one ran beside nodes of the other.
struct TimeOverlap {
  std::string first;
  std::string second;
  double us = 0;
};
/// Longest first.
std::vector<TimeOverlap> overlaps(std::span<const GraphNode> nodes, const Timeline& timeline);

/// Throws UsageError unless `timeline` has a time for each of `nodes` nodes.
void require_times(const Timeline& timeline, std::size_t nodes);

}  // namespace reprise
