// SPDX-License-Identifier: Apache-2.0
#include "diag/timeline_groups.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include <reprise/error.h>

#include "core/statistics.h"

namespace reprise {
namespace {

constexpr std::string_view kSeparator = " / ";

std::string group_of(const GraphNode& node) {
  if (!node.label.empty()) return starred(node.label);
  return node.function.empty() ? node.kind : node.function;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string starred(std::string_view label) {
  std::string text;
  for (;;) {
    const std::size_t end = std::min(label.find(kSeparator), label.size());
    const std::string_view part = label.substr(0, end);
    std::size_t stem = part.size();
    while (stem > 0 && is_digit(part[stem - 1])) --stem;
    // "layer 12" counts something; "conv2d" and "4" are names.
    const bool counts = stem < part.size() && stem > 0 && part[stem - 1] == ' ';
    text += counts ? std::string(part.substr(0, stem)) + '*' : std::string(part);
    if (end == label.size()) return text;
    text += kSeparator;
    label.remove_prefix(end + kSeparator.size());
  }
}

void require_times(const Timeline& timeline, std::size_t nodes) {
  if (timeline.nodes.size() == nodes) return;
  throw UsageError(
      fmt::format("the timeline holds the times of {} nodes, but the graph has {} nodes; give the "
                  "graph that was measured",
                  timeline.nodes.size(), nodes));
}

std::vector<TimeGroup> time_groups(std::span<const GraphNode> nodes, const Timeline& timeline) {
  require_times(timeline, nodes.size());
  std::vector<TimeGroup> groups;
  std::vector<std::vector<double>> medians;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string label = group_of(nodes[i]);
    const auto [place, fresh] = places.try_emplace(label, groups.size());
    if (fresh) {
      groups.emplace_back().label = label;
      medians.emplace_back();
    }
    const NodeTime& time = timeline.nodes[i];
    TimeGroup& group = groups[place->second];
    group.nodes += 1;
    group.p99_us = std::max(group.p99_us, time.p99_us);
    group.sum_us += time.end_us - time.start_us;
    group.interval_us += time.interval_us;
    group.beside_us += time.beside_us;
    medians[place->second].push_back(time.median_us);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].median_us = median(medians[i]);
  return groups;
}

std::vector<TimeOverlap> overlaps(std::span<const GraphNode> nodes, const Timeline& timeline) {
  require_times(timeline, nodes.size());
  std::map<std::pair<std::string, std::string>, double> sums;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeTime& time = timeline.nodes[i];
    for (const std::uint32_t other : time.beside) {
      if (other < i) continue;  // counted from its side
      const NodeTime& second = timeline.nodes[other];
      const double us =
          std::min(time.end_us, second.end_us) - std::max(time.start_us, second.start_us);
      sums[{group_of(nodes[i]), group_of(nodes[other])}] += us;
    }
  }
  std::vector<TimeOverlap> list;
  for (const auto& [names, us] : sums) list.push_back({names.first, names.second, us});
  std::stable_sort(list.begin(), list.end(),
                   [](const TimeOverlap& a, const TimeOverlap& b) { return a.us > b.us; });
  return list;
}

}  // namespace reprise
