// SPDX-License-Identifier: Apache-2.0
// Which layers are alike, and the order in which a graph is drawn.
#include "diag/graph_outline.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diag/graph_rows.h"
#include "diag/support/fake_graph.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using testing::fake_graph;
using testing::fake_node;
using testing::fake_step;

std::vector<std::string> folded_labels(const std::vector<NodeInfo>& nodes) {
  const auto sections = outline(fake_graph(nodes).nodes());
  std::vector<std::string> labels;
  for (const SectionRun& run : fold(sections)) {
    std::string label = run_label(sections, run);
    if (run.folded) label += " = " + sections[*sections[run.first].same_as].label;
    labels.push_back(std::move(label));
  }
  return labels;
}

/// In fake_step(): a copy, a fill, embed, then nine nodes for each layer.
std::size_t node_of(std::size_t layer, std::size_t node) { return 3 + 9 * layer + node; }

TEST(GraphOutline, EqualLayersFoldIntoOne) {
  EXPECT_THAT(folded_labels(fake_step(32)),
              ElementsAre("inputs", "", "embed", "layer 0", "layers 1–31 = layer 0", "head"));
  EXPECT_THAT(folded_labels(fake_step(2)),
              ElementsAre("inputs", "", "embed", "layer 0", "layer 1 = layer 0", "head"));
}

TEST(GraphOutline, ALayerThatDiffersInAnyWayStandsAlone) {
  const std::vector<std::function<void(NodeInfo&)>> changes = {
      [](NodeInfo& node) { node.kind = NodeKind::other; },
      [](NodeInfo& node) { node.function += "x"; },
      [](NodeInfo& node) { node.label += "x"; },
      [](NodeInfo& node) { node.bytes = 4; },
      [](NodeInfo& node) { node.launch->grid[0] += 1; },
      [](NodeInfo& node) { node.launch->block[2] += 1; },
      [](NodeInfo& node) { node.launch->dynamic_shared_bytes += 1; },
      [](NodeInfo& node) { node.launch->registers += 1; },
      [](NodeInfo& node) { node.launch.reset(); },
      [](NodeInfo& node) { node.declared.programmatic = true; },
      [](NodeInfo& node) { node.programmatic = node.dependencies; },
      [](NodeInfo& node) { node.dependencies[0] -= 1; },
      [](NodeInfo& node) { node.dependencies.insert(node.dependencies.begin(), 0); },
  };
  for (const auto& change : changes) {
    std::vector<NodeInfo> nodes = fake_step(6);
    change(nodes[node_of(3, 4)]);
    EXPECT_THAT(folded_labels(nodes),
                ElementsAre("inputs", "", "embed", "layer 0", "layers 1–2 = layer 0", "layer 3",
                            "layers 4–5 = layer 0", "head"));
  }
}

TEST(GraphOutline, ALayerWithANodeMoreIsNotTheSame) {
  std::vector<NodeInfo> nodes = fake_step(2);
  nodes.insert(nodes.end() - 3, fake_node("layer 1 / extra", {20}));
  EXPECT_THAT(folded_labels(nodes),
              ElementsAre("inputs", "", "embed", "layer 0", "layer 1", "head"));
}

TEST(GraphOutline, AnEdgeFromASharedNodeIsTheSameEdge) {
  std::vector<NodeInfo> nodes = fake_step(4);
  for (std::size_t layer = 0; layer < 4; ++layer) {
    nodes[node_of(layer, 3)].dependencies.insert(nodes[node_of(layer, 3)].dependencies.begin(), 0);
  }
  EXPECT_THAT(folded_labels(nodes),
              ElementsAre("inputs", "", "embed", "layer 0", "layers 1–3 = layer 0", "head"));
}

TEST(GraphOutline, AlternatingLayersRepeatTheirOwnKind) {
  std::vector<NodeInfo> nodes = fake_step(4);
  for (const std::size_t layer : {1, 3}) nodes[node_of(layer, 3)].function = "sliding";
  EXPECT_THAT(folded_labels(nodes), ElementsAre("inputs", "", "embed", "layer 0", "layer 1",
                                                "layer 2 = layer 0", "layer 3 = layer 1", "head"));
}

TEST(GraphOutline, ASideStreamsNodesStandWithTheirLayer) {
  // Recorded in turns on two streams that join at the end.
  const std::vector<NodeInfo> nodes = {
      fake_node("layer 0 / a"),      fake_node("layer 1 / a", {0}), fake_node("layer 0 / side"),
      fake_node("layer 1 / b", {1}), fake_node("end", {2, 3}),
  };
  const auto sections = outline(fake_graph(nodes).nodes());
  ASSERT_EQ(sections.size(), 3u);
  EXPECT_THAT(sections[0].nodes, ElementsAre(0, 2));
  EXPECT_THAT(sections[1].nodes, ElementsAre(1, 3));
}

TEST(GraphOutline, NodesComeAfterThoseTheyDependOn) {
  const auto nodes = fake_graph(fake_step(5)).nodes();
  std::vector<bool> seen(nodes.size());
  std::size_t count = 0;
  for (const GraphSection& section : outline(nodes)) {
    for (const std::uint32_t node : section.nodes) {
      for (const std::uint32_t from : nodes[node].dependencies) EXPECT_TRUE(seen[from]);
      seen[node] = true;
      ++count;
    }
  }
  EXPECT_EQ(count, nodes.size());
}

TEST(GraphRows, AChainHasOneLaneAndAForkTwo) {
  EXPECT_EQ(
      graph_rows(fake_graph({fake_node("a"), fake_node("b", {0}), fake_node("c", {1})}).nodes(),
                 false)
          .lanes,
      1u);
  const GraphRows fork = graph_rows(
      fake_graph({fake_node("a"), fake_node("b", {0}), fake_node("c", {0}), fake_node("d", {1, 2})})
          .nodes(),
      false);
  EXPECT_EQ(fork.lanes, 2u);
  EXPECT_EQ(fork.rows[0].lane, 0u);
  EXPECT_EQ(fork.rows[1].lane, 1u);
  EXPECT_EQ(fork.rows[2].lane, 0u);
  EXPECT_EQ(fork.rows[3].lane, 0u);
}

TEST(GraphRows, NoEdgeRunsThroughAnothersDot) {
  std::vector<NodeInfo> nodes;
  for (std::uint32_t i = 0; i < 60; ++i) {
    nodes.push_back(fake_node("n"));
    if (i > 0) nodes.back().dependencies.push_back(i * 5 / 7);
    if (i > 8) nodes.back().dependencies.push_back(i - 8);
  }
  const GraphRows picture = graph_rows(fake_graph(nodes).nodes(), false);
  for (std::size_t row = 0; row < picture.rows.size(); ++row) {
    for (const std::size_t source : picture.rows[row].sources) {
      for (std::size_t between = source + 1; between < row; ++between) {
        EXPECT_NE(picture.rows[between].lane, picture.rows[source].lane);
      }
    }
  }
}

TEST(GraphRows, AFoldedRunIsOneRowWithItsEdges) {
  const GraphRows picture = graph_rows(fake_graph(fake_step(32)).nodes(), true);
  ASSERT_EQ(picture.rows.size(), 3u + 9u + 1u + 3u);
  EXPECT_EQ(picture.rows[12].nodes.size(), 31u * 9u);
  EXPECT_THAT(picture.rows[12].sources, ElementsAre(11));
  EXPECT_THAT(picture.rows[13].sources, ElementsAre(12));
}

}  // namespace
}  // namespace reprise
