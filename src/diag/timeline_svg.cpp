// SPDX-License-Identifier: Apache-2.0
// timeline_svg(): a row per lane, a box per node, time from left to right.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <reprise/timeline_report.h>

#include "diag/graph_outline.h"
#include "diag/markup.h"
#include "diag/node_text.h"
#include "diag/svg.h"
#include "diag/timeline_groups.h"

namespace reprise {
namespace {

constexpr double kMargin = 24;
constexpr double kLeft = 84;    // where time begins
constexpr double kWidth = 960;  // of the whole replay
constexpr double kTop = 92;
constexpr double kLane = 34;
constexpr double kBox = 26;
constexpr double kLeast = 0.5;  // px of a node, so that none is overlooked
constexpr double kLetter = 6;
constexpr double kFewestLetters = 4;  // that a box writes

/// A round step of the axis that gives about ten.
double step_for(double length) {
  const double rough = length / 10;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough) return step * power;
  }
  return 10 * power;
}

std::string_view name_of(const GraphNode& node) {
  if (!node.label.empty()) return node.label;
  return node.function.empty() ? node.kind : node.function;
}

std::string tip_of(std::size_t index, const GraphNode& node, const NodeTime& time) {
  std::string tip = fmt::format(
      "node {}: {} {}, {:.2f} to {:.2f} µs, {:.2f} µs; median {:.2f}, p99 "
      "{:.2f}",
      index, node.kind, name_of(node), time.start_us, time.end_us, time.end_us - time.start_us,
      time.median_us, time.p99_us);
  if (!time.beside.empty()) {
    tip += fmt::format("; {:.2f} µs beside {} other{}", time.beside_us, time.beside.size(),
                       time.beside.size() == 1 ? "" : "s");
  }
  return tip;
}

void axis(SvgWriter& svg, double length, double bottom) {
  if (length <= 0) return;
  const double step = step_for(length);
  for (double at = 0; at <= length; at += step) {
    const double x = kLeft + kWidth * at / length;
    svg.path(fmt::format("M{} {}V{}", coordinate(x), coordinate(kTop - 8), coordinate(bottom)),
             "rule");
    svg.text(x, kTop - 14, "small muted mid", fmt::format("{:g} µs", at));
  }
}

}  // namespace

std::string timeline_svg(const Graph& graph, const Timeline& timeline, std::string_view title) {
  const std::vector<GraphNode> nodes = graph.nodes();
  require_times(timeline, nodes.size());
  SvgWriter svg;
  const double bottom = kTop + kLane * static_cast<double>(timeline.lanes);
  svg.text(kMargin, 38, "heading", cut_to(title, 80), title);
  const std::string summary = fmt::format(
      "{} nodes in {} lane{}, {:.1f} µs with a stamp behind each node, of which two or more nodes "
      "ran during {:.1f} µs",
      nodes.size(), timeline.lanes, timeline.lanes == 1 ? "" : "s", timeline.shown_us,
      timeline.overlap_us);
  svg.text(kMargin, 58, "muted", summary);
  axis(svg, timeline.shown_us, bottom);
  for (std::size_t lane = 0; lane < timeline.lanes; ++lane) {
    svg.text(kMargin, kTop + kLane * static_cast<double>(lane) + 18, "small muted",
             fmt::format("lane {}", lane));
  }
  const double scale = timeline.shown_us > 0 ? kWidth / timeline.shown_us : 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeTime& time = timeline.nodes[i];
    const double x = kLeft + scale * time.start_us;
    const double y = kTop + kLane * static_cast<double>(time.lane);
    const double width = std::max(scale * (time.end_us - time.start_us), kLeast);
    svg.box({.x = x, .y = y, .width = width, .height = kBox, .radius = 0},
            "span " + std::string(kind_class(nodes[i].kind)), tip_of(i, nodes[i], time));
    const double letters = std::floor((width - 6) / kLetter);
    if (letters < kFewestLetters) continue;
    const std::string_view inside = label_in_section(nodes[i].label);  // the tip says all of it
    svg.text(x + 4, y + 17, "small on",
             cut_to(inside.empty() ? name_of(nodes[i]) : inside, static_cast<std::size_t>(letters)),
             tip_of(i, nodes[i], time));
  }
  return svg.finish(kLeft + kWidth + kMargin, bottom + kMargin, title, summary);
}

}  // namespace reprise
