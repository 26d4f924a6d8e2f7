// SPDX-License-Identifier: Apache-2.0
// Timelines as table, JSON and trace: each figure is there, and labels stay text.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <reprise/error.h>
#include <reprise/graph_picture.h>
#include <reprise/timeline_report.h>

#include "diag/support/fake_graph.h"
#include "diag/support/markup_reader.h"
#include "diag/timeline_groups.h"

namespace reprise {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::fake_graph;
using testing::fake_node;
using ::testing::HasSubstr;

/// Two layers in a chain with a copy beside the first: ends at 10, 40 | 20 … 50, 60 µs.
std::vector<NodeInfo> two_layers() {
  std::vector<NodeInfo> nodes{fake_node("embed"), fake_node("layer 0 / qkv", {0}),
                              fake_node("prefetch", {0}, NodeKind::copy),
                              fake_node("layer 1 / qkv", {1}), fake_node("head", {2, 3})};
  nodes[2].bytes = 4096;
  nodes[1].function = "ns::qkv_kernel";
  nodes[1].launch = LaunchGeometry{.grid = {132, 2, 1}, .block = {256, 1, 1}, .cluster = {1, 1, 1}};
  return nodes;
}

Timeline timeline_of(const Graph& graph, const std::vector<double>& ends) {
  std::vector<std::uint64_t> stamps{1'000'000};
  for (const double end : ends) {
    stamps.push_back(0);
    stamps.push_back(1'000'000 + static_cast<std::uint64_t>(1000 * end));
  }
  Timeline timeline = make_timeline(graph.nodes(), std::vector<std::vector<std::uint64_t>>{stamps});
  timeline.served.microseconds = {42.5};
  timeline.floor_us = 1.25;
  return timeline;
}

const std::vector<double> kEnds{10, 40, 30, 50, 60};

TEST(TimelineReport, StarsTheNumbersOfLayers) {
  EXPECT_EQ(starred("layer 12 / qkv"), "layer * / qkv");
  EXPECT_EQ(starred("block 1 / expert 7 / up"), "block * / expert * / up");
  EXPECT_EQ(starred("conv2d / 4"), "conv2d / 4");
  EXPECT_EQ(starred("fp16"), "fp16");
  EXPECT_EQ(starred(""), "");
  EXPECT_EQ(starred(" / "), " / ");
}

TEST(TimelineReport, GroupsAddUpToTheReplay) {
  const Graph graph = fake_graph(two_layers());
  const auto nodes = graph.nodes();
  const std::vector<TimeGroup> groups = time_groups(nodes, timeline_of(graph, kEnds));
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[1].label, "layer * / qkv");
  EXPECT_EQ(groups[1].nodes, 2u);
  EXPECT_DOUBLE_EQ(groups[1].sum_us, 40);
  EXPECT_DOUBLE_EQ(groups[1].median_us, 20);
  EXPECT_DOUBLE_EQ(groups[1].p99_us, 30);
  EXPECT_DOUBLE_EQ(groups[1].beside_us, 20);
  double adds = 0;
  for (const TimeGroup& group : groups) adds += group.interval_us;
  EXPECT_DOUBLE_EQ(adds, 60);
}

TEST(TimelineReport, TheTableSaysWhatRanBesideWhat) {
  const Graph graph = fake_graph(two_layers());
  const std::string text = timeline_text(graph, timeline_of(graph, kEnds));
  for (const char* part :
       {"1 replay: 42.5 µs", "60.0 µs with a stamp", "measures 1.25 µs", "layer * / qkv",
        "ran during 20.0 of 60.0 µs, in 2 lanes", "20.00 µs  layer * / qkv  beside  prefetch",
        "critical path: 4 of 5 nodes, 60.0 of 60.0 µs"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const Graph chain = fake_graph({fake_node("a"), fake_node("b", {0})});
  EXPECT_THAT(timeline_text(chain, timeline_of(chain, {1, 2})), HasSubstr("no two nodes ran"));
}

TEST(TimelineReport, TheTraceHasAnEventForEachNodeAndArrowsBetweenLanes) {
  const Graph graph = fake_graph(two_layers());
  const json trace = json::parse(timeline_trace(graph, timeline_of(graph, kEnds), "a step"));
  std::vector<json> nodes;
  std::vector<json> arrows;
  std::vector<std::string> names;
  for (const json& event : trace.at("traceEvents")) {
    if (event["ph"] == "X") nodes.push_back(event);
    if (event["ph"] == "s" || event["ph"] == "f") arrows.push_back(event);
    if (event["ph"] == "M") names.push_back(event["args"]["name"]);
  }
  EXPECT_THAT(names, ElementsAre("a step", "lane 0", "lane 1"));
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(nodes[1]["name"], "layer 0 / qkv");
  EXPECT_EQ(nodes[1]["ts"], 10);
  EXPECT_EQ(nodes[1]["dur"], 30);
  EXPECT_EQ(nodes[1]["args"]["grid"], (json{132, 2, 1}));
  EXPECT_EQ(nodes[1]["args"]["function"], "ns::qkv_kernel");
  EXPECT_EQ(nodes[2]["args"]["bytes"], 4096);
  EXPECT_EQ(nodes[2]["args"]["beside"], (json{1}));
  EXPECT_NE(nodes[1]["tid"], nodes[2]["tid"]);
  ASSERT_EQ(arrows.size(), 4u);  // embed to prefetch, prefetch to head
  EXPECT_EQ(arrows[0]["id"], arrows[1]["id"]);
  EXPECT_EQ(arrows[1]["tid"], nodes[2]["tid"]);
  EXPECT_EQ(arrows[3]["ts"], nodes[4]["ts"]);
}

TEST(TimelineReport, EventsOfALaneDoNotOverlap) {
  std::vector<NodeInfo> layers;
  std::vector<double> ends;
  for (std::uint32_t i = 0; i < 60; ++i) {
    layers.push_back(fake_node("n", i == 0                ? std::vector<std::uint32_t>{}
                                    : i % 7 == 0 && i > 7 ? std::vector<std::uint32_t>{i - 1, i - 7}
                                                          : std::vector<std::uint32_t>{i / 2}));
    ends.push_back(static_cast<double>((i * 37) % 101));
  }
  const Graph graph = fake_graph(layers);
  const Timeline timeline = timeline_of(graph, ends);
  for (std::size_t i = 0; i < 60; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const NodeTime& a = timeline.nodes[i];
      const NodeTime& b = timeline.nodes[j];
      if (a.lane == b.lane) {
        EXPECT_TRUE(a.start_us >= b.end_us || b.start_us >= a.end_us) << i << " " << j;
      }
    }
  }
}

TEST(TimelineReport, TheJsonHoldsNodesAndGroups) {
  const Graph graph = fake_graph(two_layers());
  const json tree = json::parse(timeline_json(graph, timeline_of(graph, kEnds)));
  EXPECT_EQ(tree["replays"], 1);
  EXPECT_EQ(tree["served_us"]["median"], 42.5);
  EXPECT_EQ(tree["floor_us"], 1.25);
  EXPECT_EQ(tree["overlap_us"], 20);
  EXPECT_EQ(tree["critical_path"], (json{0, 1, 3, 4}));
  EXPECT_EQ(tree["nodes"].size(), 5u);
  EXPECT_EQ(tree["nodes"][3]["start_us"], 40);
  EXPECT_EQ(tree["groups"][1]["label"], "layer * / qkv");
  Timeline unserved = timeline_of(graph, kEnds);
  unserved.served.microseconds.clear();
  EXPECT_TRUE(json::parse(timeline_json(graph, unserved))["served_us"].is_null());
}

TEST(TimelineReport, ThePictureHasABoxForEachNodeAndStandsOnThePage) {
  const Graph graph = fake_graph(two_layers());
  const Timeline timeline = timeline_of(graph, kEnds);
  std::size_t boxes = 0;
  double first_right = 0;
  double second_left = 0;
  for (const testing::Element& element :
       testing::read_markup(timeline_svg(graph, timeline), false)) {
    const auto style = element.attributes.find("class");
    if (element.name != "rect" || style == element.attributes.end()) continue;
    if (!style->second.starts_with("span ")) continue;
    const double x = std::stod(element.attributes.at("x"));
    if (boxes == 0) first_right = x + std::stod(element.attributes.at("width"));
    if (boxes == 1) second_left = x;
    ++boxes;
  }
  EXPECT_EQ(boxes, 5u);
  EXPECT_NEAR(first_right, second_left, 0.02);
  EXPECT_THAT(graph_html(graph, {.timeline = &timeline}), HasSubstr("two or more nodes ran"));
  EXPECT_THAT(graph_html(graph), ::testing::Not(HasSubstr("aria-label=\"Timeline\"")));
  const Graph other = fake_graph({fake_node("a")});
  EXPECT_THROW((void)graph_html(other, {.timeline = &timeline}), UsageError);
}

TEST(TimelineReport, HostileLabelsStayText) {
  std::vector<NodeInfo> nodes;
  std::vector<double> ends;
  for (const std::string& label : testing::hostile_labels()) {
    nodes.push_back(fake_node(label));
    nodes.back().function = label;
    ends.push_back(5);
  }
  const Graph graph = fake_graph(nodes);
  const Timeline timeline = timeline_of(graph, ends);
  EXPECT_EQ(json::parse(timeline_json(graph, timeline))["nodes"].size(), nodes.size());
  const json trace = json::parse(timeline_trace(graph, timeline, nodes[0].label));
  EXPECT_GE(trace["traceEvents"].size(), nodes.size());
  (void)testing::read_markup(timeline_svg(graph, timeline, nodes[0].label), false);  // or it throws
  const std::string text = timeline_text(graph, timeline);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 400u);
}

TEST(TimelineReport, AnotherGraphsTimelineIsRefused) {
  const Graph graph = fake_graph(two_layers());
  const Graph other = fake_graph({fake_node("a")});
  const Timeline timeline = timeline_of(graph, kEnds);
  EXPECT_THROW((void)timeline_text(other, timeline), UsageError);
  EXPECT_THROW((void)timeline_json(other, timeline), UsageError);
  EXPECT_THROW((void)timeline_trace(other, timeline), UsageError);
}

}  // namespace
}  // namespace reprise
