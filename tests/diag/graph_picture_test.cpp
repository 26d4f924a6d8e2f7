// SPDX-License-Identifier: Apache-2.0
// Pictures and pages of graphs: well-formed, complete, and deaf to what labels say.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <reprise/error.h>
#include <reprise/graph_picture.h>

#include "diag/graph_text.h"
#include "diag/markup.h"
#include "diag/programmatic.h"
#include "diag/support/fake_graph.h"
#include "diag/support/markup_reader.h"

namespace reprise {
namespace {

using ::testing::Contains;
using testing::Element;
using testing::fake_graph;
using testing::fake_loop;
using testing::fake_node;
using testing::fake_step;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_dot;
using testing::read_markup;

std::vector<std::string> texts(const std::vector<Element>& elements, std::string_view name) {
  std::vector<std::string> found;
  for (const Element& element : elements) {
    if (element.name == name) found.push_back(element.text);
  }
  return found;
}

nlohmann::json page_data(const std::vector<Element>& elements) {
  for (const Element& element : elements) {
    const auto id = element.attributes.find("id");
    if (id != element.attributes.end() && id->second == "data") {
      return nlohmann::json::parse(element.text);
    }
  }
  return {};
}

/// Nodes whose labels, functions and dependencies are as hostile as a recording could make them.
std::vector<NodeInfo> hostile_step() {
  std::vector<NodeInfo> nodes;
  for (const std::string& label : testing::hostile_labels()) {
    nodes.push_back(fake_node(label));
    nodes.back().function = label;
    nodes.push_back(fake_node("scope / " + label));
    if (nodes.size() > 2) {
      nodes.back().dependencies.push_back(static_cast<std::uint32_t>(nodes.size() - 3));
    }
  }
  return nodes;
}

GraphCaption hostile_caption() {
  const auto labels = testing::hostile_labels();
  GraphCaption caption;
  for (const std::string& label : labels) {
    caption.title += label;
    caption.facts.emplace_back(label, label);
  }
  return caption;
}

TEST(GraphDot, HoldsNodesEdgesAndAClusterPerSection) {
  const Graph graph = fake_graph(fake_step(3));
  const auto dot = read_dot(graph_dot(graph, {.title = "a \"step\""}));
  EXPECT_EQ(dot.nodes.size(), graph.node_count());
  EXPECT_THAT(dot.clusters,
              ::testing::ElementsAre("inputs", "embed", "layer 0", "layer 1", "layer 2", "head"));
  EXPECT_THAT(dot.edges, Contains(std::pair<std::string, std::string>("n2", "n3")));
  EXPECT_EQ(dot.edges.size(), 2u + 3 * 10u + 3u);
  EXPECT_THAT(dot.nodes.at("n4").at("label"), HasSubstr("qkv / product\n"));
  EXPECT_THAT(dot.nodes.at("n4").at("label"), HasSubstr("132 × 256\n150.0 KiB shared, 168 reg"));
}

TEST(GraphDot, ABodyIsABoxThatItsNodePointsAt) {
  const auto dot = read_dot(graph_dot(fake_graph(fake_loop())));
  EXPECT_EQ(dot.nodes.size(), 9u);
  EXPECT_THAT(dot.clusters, ::testing::UnorderedElementsAre(
                                "begin", "decode", "decode / steps: body", "decode / chosen: then",
                                "decode / more: body", "decode / chosen: otherwise", "end"));
  EXPECT_THAT(dot.edges,
              ::testing::UnorderedElementsAre(
                  std::pair("n0", "n1"), std::pair("n1", "n2"), std::pair("n1", "n1_0_0"),
                  std::pair("n1_0_0", "n1_0_1"), std::pair("n1_0_1", "n1_0_1_0_0"),
                  std::pair("n1_0_1_0_0", "n1_0_1_0_1"), std::pair("n1_0_1", "n1_0_1_1_0"),
                  std::pair("n1_0_1_0_0", "n1_0_1_0_0_0_0")));
  EXPECT_THAT(dot.nodes.at("n1_0_1_0_0_0_0").at("label"), HasSubstr("one token"));
}

/// A copy and three programmatic launches, of which two keep their edges.
std::vector<NodeInfo> programmatic_step() {
  std::vector<NodeInfo> nodes = {fake_node("in", {}, NodeKind::copy), fake_node("a", {0}),
                                 fake_node("b", {1}), fake_node("c", {2})};
  for (std::size_t i = 1; i < nodes.size(); ++i) nodes[i].declared.programmatic = true;
  for (std::size_t i = 2; i < nodes.size(); ++i) nodes[i].programmatic = nodes[i].dependencies;
  return nodes;
}

TEST(ProgrammaticEdges, AreCountedWithWhatBrokeThem) {
  std::vector<NodeInfo> nodes = programmatic_step();
  EXPECT_EQ(programmatic_text(programmatic_edges(fake_graph(nodes).nodes())),
            "2 of 3, 1 broken by copy 'in'");
  nodes[3].programmatic.clear();  // as where an event stands between two kernels
  EXPECT_EQ(programmatic_text(programmatic_edges(fake_graph(nodes).nodes())),
            "1 of 3, 1 broken by an event or another stream, 1 broken by copy 'in'");
  for (NodeInfo& node : nodes) node.declared.supported = false;
  nodes[2].programmatic.clear();
  EXPECT_EQ(programmatic_text(programmatic_edges(fake_graph(nodes).nodes())),
            "3 launched plainly: this device has no programmatic launch");
  EXPECT_EQ(programmatic_text(programmatic_edges(fake_graph(fake_step(1)).nodes())), "");
}

TEST(ProgrammaticEdges, ShowInEveryFormat) {
  const Graph graph = fake_graph(programmatic_step());
  EXPECT_THAT(graph_text(graph), HasSubstr("programmatic edges (~): 2 of 3, 1 broken by copy"));
  EXPECT_THAT(graph_text(graph), HasSubstr(" ~2 "));
  const std::string dot = graph_dot(graph, {});
  EXPECT_THAT(dot, HasSubstr("n0 -> n1;"));
  EXPECT_THAT(dot, HasSubstr("n2 -> n3 [style=dashed];"));
  EXPECT_EQ(read_dot(dot).edges.size(), 3u);
  const std::string svg = graph_svg(graph, {});
  EXPECT_THAT(svg, HasSubstr("class=\"edge\""));
  EXPECT_THAT(svg, HasSubstr("class=\"edge early\""));
  EXPECT_THAT(graph_html(graph, {}), HasSubstr("\"programmatic\":[2]"));
}

TEST(ProgrammaticEdges, OfABodyAreItsOwn) {
  std::vector<NodeInfo> nodes{fake_node("steps", {}, NodeKind::conditional)};
  nodes[0].function = "while";
  nodes[0].bodies.push_back(programmatic_step());
  const std::string svg = graph_svg(fake_graph(nodes), {});
  std::size_t early = 0;
  for (const Element& element : read_markup(svg, false)) {
    const auto style = element.attributes.find("class");
    early += style != element.attributes.end() && style->second == "edge early" ? 1 : 0;
  }
  EXPECT_EQ(early, 2u);
}

TEST(GraphDot, HostileLabelsAreText) {
  const Graph graph = fake_graph(hostile_step());
  const auto dot = read_dot(graph_dot(graph, hostile_caption()));
  EXPECT_EQ(dot.nodes.size(), graph.node_count());
  const auto labels = testing::hostile_labels();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].find(" / ") != std::string::npos) continue;
    EXPECT_EQ(dot.nodes.at("n" + std::to_string(2 * i)).at("label"), plain_text(labels[i]));
  }
}

TEST(GraphSvg, ShowsEveryNodeOfASmallGraph) {
  const auto shown = texts(read_markup(graph_svg(fake_graph(fake_step(2))), false), "text");
  EXPECT_THAT(shown, Contains("layer 1"));
  EXPECT_EQ(std::count(shown.begin(), shown.end(), "attend"), 2);
  EXPECT_THAT(shown, Contains("132 × 256"));
  EXPECT_THAT(shown, Contains("150.0 KiB shared, 168 registers"));
  EXPECT_THAT(shown, Contains("4.0 KiB"));
  EXPECT_THAT(shown, Not(Contains("time")));
}

TEST(GraphSvg, FoldsEqualLayersOfALargeOne) {
  const auto shown = texts(read_markup(graph_svg(fake_graph(fake_step(32))), false), "text");
  EXPECT_THAT(shown, Contains("layers 1–31"));
  EXPECT_THAT(shown, Contains("same as layer 0"));
  EXPECT_THAT(shown, Contains("279 kernel nodes"));
  EXPECT_EQ(std::count(shown.begin(), shown.end(), "attend"), 1);
}

TEST(GraphSvg, ShowsTimesWhereMeasured) {
  GraphCaption caption;
  caption.node_microseconds.assign(24, 1.25);
  caption.node_microseconds[5] = std::nan("");
  caption.node_microseconds[6] = -1;
  const auto shown =
      texts(read_markup(graph_svg(fake_graph(fake_step(2)), caption), false), "text");
  EXPECT_THAT(shown, Contains("time"));
  EXPECT_EQ(std::count(shown.begin(), shown.end(), "1.2 µs"), 22);
}

double number(const Element& element, const std::string& attribute) {
  return std::stod(element.attributes.at(attribute));
}
bool lies_in(const Element& inner, const Element& outer) {
  const double top = number(outer, "y");
  const double left = number(outer, "x");
  return number(inner, "y") > top && number(inner, "y") < top + number(outer, "height") &&
         number(inner, "x") > left && number(inner, "x") < left + number(outer, "width");
}

TEST(GraphSvg, ABodyLiesBelowItsNodeInAFrame) {
  const auto elements = read_markup(graph_svg(fake_graph(fake_loop())), false);
  std::vector<Element> frames;
  std::map<std::string, Element> labels;
  for (const Element& element : elements) {
    if (element.name == "rect" && element.attributes.at("class") == "body") {
      frames.push_back(element);
    }
    if (element.name == "text") labels.insert_or_assign(element.text, element);
  }
  // In the order of drawing: the steps, then of the branch, the loop in it, otherwise.
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_TRUE(lies_in(labels.at("decode / embed"), frames[0]));
  EXPECT_TRUE(lies_in(labels.at("decode / chosen"), frames[0]));
  EXPECT_TRUE(lies_in(labels.at("count"), frames[1]));
  EXPECT_TRUE(lies_in(labels.at("one token"), frames[2]));
  EXPECT_TRUE(lies_in(labels.at("skip"), frames[3]));
  EXPECT_FALSE(lies_in(labels.at("skip"), frames[1]));
  EXPECT_TRUE(lies_in(frames[2], frames[1]));
  for (std::size_t i = 1; i < frames.size(); ++i) EXPECT_TRUE(lies_in(frames[i], frames[0])) << i;
  for (const Element& frame : frames) EXPECT_FALSE(lies_in(labels.at("end"), frame));
  for (const char* role : {"then", "otherwise", "body"}) EXPECT_TRUE(labels.contains(role)) << role;
}

TEST(GraphSvg, ALargeBodyFoldsItsLayers) {
  std::vector<NodeInfo> nodes{fake_node("steps", {}, NodeKind::conditional)};
  nodes[0].function = "while";
  nodes[0].bodies.push_back(fake_step(32));
  const auto shown = texts(read_markup(graph_svg(fake_graph(nodes)), false), "text");
  EXPECT_THAT(shown, Contains("layers 1–31"));
  EXPECT_THAT(shown, Contains("same as layer 0"));
  EXPECT_THAT(shown, Contains("132 × 256"));
}

TEST(GraphSvg, HostileLabelsAreText) {
  const auto elements =
      read_markup(graph_svg(fake_graph(hostile_step()), hostile_caption()), false);
  for (const Element& element : elements) {
    EXPECT_THAT((std::vector<std::string>{"svg", "title", "desc", "style", "defs", "pattern",
                                          "rect", "text", "path"}),
                Contains(element.name));
    for (const auto& [name, value] : element.attributes) {
      EXPECT_FALSE(name.starts_with("on")) << name;
      EXPECT_THAT(value, Not(HasSubstr("javascript:")));
    }
  }
  EXPECT_THAT(texts(elements, "text"), Contains("<script>alert(1)</script>"));
}

TEST(GraphSvg, RefersToNothingOutside) {
  const std::string svg = graph_svg(fake_graph(fake_step(4)));
  EXPECT_EQ(svg.find("http"), svg.find("http://www.w3.org/2000/svg"));
  EXPECT_EQ(svg.rfind("http"), svg.find("http"));
  EXPECT_THAT(svg, Not(HasSubstr("@import")));
}

TEST(GraphHtml, HoldsTheGraphAsData) {
  const Graph graph = fake_graph(fake_step(4));
  GraphCaption caption{.title = "step", .facts = {{"device", "none"}}, .node_microseconds = {}};
  caption.node_microseconds.assign(graph.node_count(), -1);
  caption.node_microseconds[7] = 3.5;
  const auto data = page_data(read_markup(graph_html(graph, caption), true));
  ASSERT_EQ(data["nodes"].size(), graph.node_count());
  EXPECT_EQ(data["nodes"][4]["launch"]["grid"], nlohmann::json::array({132, 1, 1}));
  EXPECT_EQ(data["nodes"][4]["launch"]["registers"], 168);
  EXPECT_FALSE(data["nodes"][0].contains("launch"));
  EXPECT_EQ(data["nodes"][7]["microseconds"], 3.5);
  EXPECT_FALSE(data["nodes"][6].contains("microseconds"));
  EXPECT_EQ(data["sections"][3]["label"], "layer 0");
  EXPECT_TRUE(data["sections"][3]["same_as"].is_null());
  EXPECT_EQ(data["sections"][5]["same_as"], 3);
  EXPECT_EQ(data["runs"][4]["label"], "layers 1–3");
  EXPECT_EQ(data["runs"][4]["count"], 3);
}

TEST(GraphHtml, HoldsBodiesWithinTheirNodes) {
  const auto data = page_data(read_markup(graph_html(fake_graph(fake_loop())), true));
  ASSERT_EQ(data["nodes"].size(), 3u);
  EXPECT_FALSE(data["nodes"][0].contains("bodies"));
  const auto& steps = data["nodes"][1]["bodies"];
  ASSERT_EQ(steps.size(), 1u);
  ASSERT_EQ(steps[0].size(), 2u);
  EXPECT_EQ(steps[0][0]["label"], "decode / embed");
  const auto& branch = steps[0][1];
  EXPECT_EQ(branch["function"], "if");
  EXPECT_EQ(branch["dependencies"], nlohmann::json::array({0}));
  ASSERT_EQ(branch["bodies"].size(), 2u);
  EXPECT_EQ(branch["bodies"][0][0]["bodies"][0][0]["label"], "one token");
  EXPECT_EQ(branch["bodies"][1][0]["label"], "skip");
}

TEST(GraphHtml, AllowsItselfNoNetwork) {
  const auto elements = read_markup(graph_html(fake_graph(fake_step(1))), true);
  std::string policy;
  for (const Element& element : elements) {
    for (const auto& [name, value] : element.attributes) {
      EXPECT_FALSE(name.starts_with("on")) << name;
      EXPECT_TRUE(name != "src" && name != "href" && name != "style") << name;
      if (value == "Content-Security-Policy") policy = element.attributes.at("content");
    }
  }
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("http")));
}

TEST(GraphHtml, HostileLabelsAreData) {
  const std::vector<NodeInfo> nodes = hostile_step();
  const auto elements = read_markup(graph_html(fake_graph(nodes), hostile_caption()), true);
  EXPECT_EQ(texts(elements, "script").size(), 2u);
  EXPECT_EQ(texts(elements, "img").size(), 0u);
  EXPECT_EQ(texts(elements, "b").size(), 0u);
  const auto data = page_data(elements);
  ASSERT_EQ(data["nodes"].size(), nodes.size());
  EXPECT_EQ(data["nodes"][2]["label"], nodes[2].label);
}

TEST(GraphHtml, APoolsPageShowsSizesAndMemory) {
  Step step;
  step.name = "double";
  step.bindings = {{.name = "out", .kind = BindingKind::output, .dtype = DType::f32, .row = {}}};
  step.run = [](StepContext& context) {
    const TensorView out = context.tensor("out");
    context.stream().fill({out.data, out.bytes(), out.space}, 0);
  };
  GraphPoolOptions options;
  options.sizes = {1, 4};
  GraphPool pool(host::open({.threads = 1}), step, options);
  pool.record();
  const auto elements = read_markup(graph_html(pool, 4), true);
  EXPECT_THAT(texts(elements, "td"), Contains("recorded"));
  EXPECT_EQ(texts(elements, "figure").size(), 1u);
  EXPECT_THAT(texts(elements, "text"), Contains("fragmentation"));
  EXPECT_THAT(texts(elements, "dd"), Contains("4"));
  EXPECT_EQ(page_data(elements)["nodes"].size(), 1u);
  EXPECT_THROW(graph_html(pool, 2), UsageError);
}

TEST(GraphPicture, TimesForAnotherNumberOfNodesAreRefused) {
  const Graph graph = fake_graph(fake_step(1));
  GraphCaption caption;
  caption.node_microseconds = {1, 2};
  EXPECT_THROW(graph_dot(graph, caption), UsageError);
  EXPECT_THROW(graph_svg(graph, caption), UsageError);
  EXPECT_THROW(graph_html(graph, caption), UsageError);
}

TEST(GraphPicture, HostileLabelsInBodiesAreText) {
  std::vector<NodeInfo> nodes{fake_node("<b>", {}, NodeKind::conditional)};
  nodes[0].bodies = {hostile_step(), hostile_step()};
  nodes[0].function = "if";
  const Graph graph = fake_graph(nodes);
  EXPECT_EQ(read_dot(graph_dot(graph)).nodes.size(), 1 + 2 * hostile_step().size());
  EXPECT_EQ(texts(read_markup(graph_svg(graph), false), "b").size(), 0u);
  const auto elements = read_markup(graph_html(graph), true);
  EXPECT_EQ(texts(elements, "script").size(), 2u);
  EXPECT_EQ(page_data(elements)["nodes"][0]["bodies"][1].size(), hostile_step().size());
}

TEST(GraphPicture, OneNodeIsAPictureToo) {
  const Graph graph = fake_graph({fake_node("")});
  EXPECT_EQ(read_dot(graph_dot(graph)).nodes.size(), 1u);
  EXPECT_FALSE(read_markup(graph_svg(graph), false).empty());
  EXPECT_EQ(page_data(read_markup(graph_html(graph), true))["nodes"].size(), 1u);
}

TEST(GraphPicture, TwoThousandNodesOfAnyShapeTakeNoTime) {
  std::vector<NodeInfo> different;  // sections that all differ, each waiting for many
  std::vector<NodeInfo> wide;       // one node after all the others
  for (std::uint32_t i = 0; i < 2000; ++i) {
    different.push_back(fake_node("layer " + std::to_string(i) + " / x"));
    for (std::uint32_t j = 1; j < 8 && j <= i; ++j) different.back().dependencies.push_back(i - j);
    different.back().bytes = i;
    wide.push_back(fake_node("wide"));
  }
  for (std::uint32_t i = 0; i < 1999; ++i) wide.back().dependencies.push_back(i);
  for (const auto& nodes : {different, wide, fake_step(222)}) {
    const Graph graph = fake_graph(nodes);
    const auto start = std::chrono::steady_clock::now();
    const std::string dot = graph_dot(graph);
    const std::string svg = graph_svg(graph);
    const std::string html = graph_html(graph);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 10) << "seconds; a tenth of one is usual";
    EXPECT_EQ(read_dot(dot).nodes.size(), nodes.size());
    EXPECT_FALSE(read_markup(svg, false).empty());
    EXPECT_EQ(page_data(read_markup(html, true))["nodes"].size(), nodes.size());
  }
}

}  // namespace
}  // namespace reprise
