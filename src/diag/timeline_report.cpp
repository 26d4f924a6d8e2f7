// SPDX-License-Identifier: Apache-2.0
// timeline_text(). The formats for tools are in json.cpp.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <reprise/timeline_report.h>

#include "core/text.h"
#include "diag/markup.h"
#include "diag/timeline_groups.h"

namespace reprise {
namespace {

constexpr std::size_t kMostOverlaps = 12;
constexpr std::size_t kWidest = 60;  // characters of a label

std::string shown(std::string_view label) { return cut_to(printable(label), kWidest); }

/// fmt counts characters, as the eye does.
std::size_t width_for(const std::vector<TimeGroup>& groups) {
  std::size_t width = 6;
  for (const TimeGroup& group : groups) width = std::max(width, characters(shown(group.label)));
  return width;
}

std::string heading(const Timeline& timeline) {
  std::string text = fmt::format("{} {}", timeline.stamped.microseconds.size(),
                                 timeline.stamped.microseconds.size() == 1 ? "replay" : "replays");
  if (!timeline.served.microseconds.empty()) {
    text += fmt::format(": {:.1f} µs each (median; p99 {:.1f}) as the graph serves",
                        timeline.served.median(), timeline.served.p99());
  }
  text += fmt::format("; {:.1f} µs with a stamp behind each node (p99 {:.1f})\n",
                      timeline.stamped.median(), timeline.stamped.p99());
  return text + fmt::format(
                    "a node with next to no work measures {:.2f} µs: about that much of "
                    "each time is not the node's\n",
                    timeline.floor_us);
}

std::string table(const std::vector<TimeGroup>& groups, const Timeline& timeline) {
  const std::size_t width = width_for(groups);
  const double all = timeline.shown_us;
  TimeGroup sum{.label = "in all"};
  std::string text = fmt::format("{:<{}}  {:>5} {:>9} {:>9} {:>10} {:>10} {:>7} {:>10}\n", "µs",
                                 width, "nodes", "median", "p99", "sum", "adds", "share", "beside");
  const auto line = [&](const TimeGroup& group, bool each) {
    fmt::format_to(std::back_inserter(text),
                   "{:<{}}  {:>5} {:>9} {:>9} {:>10.2f} {:>10.2f} {:>6.1f}% {:>10.2f}\n",
                   shown(group.label), width, group.nodes,
                   each ? fmt::format("{:.2f}", group.median_us) : "",
                   each ? fmt::format("{:.2f}", group.p99_us) : "", group.sum_us, group.interval_us,
                   all > 0 ? 100 * group.interval_us / all : 0, group.beside_us);
  };
  for (const TimeGroup& group : groups) {
    line(group, true);
    sum.nodes += group.nodes;
    sum.sum_us += group.sum_us;
    sum.interval_us += group.interval_us;
    sum.beside_us += group.beside_us;
  }
  line(sum, false);
  return text +
         "median, p99: of one node, over all replays. sum: of durations, adds: from the end before "
         "to the own end, in the\nreplay of median length. beside: of the sum, while another node "
         "ran too.\n";
}

std::string overlap_lines(std::span<const GraphNode> nodes, const Timeline& timeline) {
  if (timeline.overlap_us <= 0) return "no two nodes ran at the same time\n";
  std::string text = fmt::format("two or more nodes ran during {:.1f} of {:.1f} µs, in {} lanes:\n",
                                 timeline.overlap_us, timeline.shown_us, timeline.lanes);
  const std::vector<TimeOverlap> list = overlaps(nodes, timeline);
  for (std::size_t i = 0; i < std::min(list.size(), kMostOverlaps); ++i) {
    fmt::format_to(std::back_inserter(text), "  {:>8.2f} µs  {}  beside  {}\n", list[i].us,
                   shown(list[i].first), shown(list[i].second));
  }
  if (list.size() > kMostOverlaps) {
    text += fmt::format("  and {} more pairs\n", list.size() - kMostOverlaps);
  }
  return text;
}

std::string path_line(const Timeline& timeline) {
  double us = 0;
  for (const std::uint32_t node : timeline.critical_path) {
    us += timeline.nodes[node].end_us - timeline.nodes[node].start_us;
  }
  return fmt::format("critical path: {} of {} nodes, {:.1f} of {:.1f} µs\n",
                     timeline.critical_path.size(), timeline.nodes.size(), us, timeline.shown_us);
}

}  // namespace

std::string timeline_text(const Graph& graph, const Timeline& timeline) {
  const std::vector<GraphNode> nodes = graph.nodes();
  const std::vector<TimeGroup> groups = time_groups(nodes, timeline);
  return heading(timeline) + '\n' + table(groups, timeline) + '\n' +
         overlap_lines(nodes, timeline) + path_line(timeline);
}

std::vector<double> node_microseconds(const Timeline& timeline) {
  std::vector<double> times;
  for (const NodeTime& node : timeline.nodes) times.push_back(node.median_us);
  return times;
}

}  // namespace reprise
