// SPDX-License-Identifier: Apache-2.0
// What people and tools read about recorded graphs.
#include <array>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <reprise/host.h>

#include "diag/graph_text.h"
#include "diag/json.h"
#include "diag/node_groups.h"
#include "diag/support/fake_graph.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

std::vector<GraphNode> some_nodes() {
  return {
      {.kind = "copy", .label = "", .function = "", .bytes = 8, .dependencies = {}},
      {.kind = "kernel", .label = "layer 0 / qkv", .function = "", .dependencies = {0}},
      {.kind = "kernel", .label = "layer 1 / qkv / norm", .function = "", .dependencies = {1}},
      {.kind = "fill", .label = "layer 0 / late", .function = "", .bytes = 4, .dependencies = {2}}};
}

TEST(NodeGroups, FollowTheFirstPartOfTheLabel) {
  const std::vector<NodeGroup> groups = group_nodes(some_nodes());
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].label, "");
  EXPECT_EQ(groups[0].bytes, 8u);
  EXPECT_EQ(groups[1].label, "layer 0");
  EXPECT_EQ(groups[1].nodes, 2u);
  EXPECT_EQ(groups[1].bytes, 4u);
  EXPECT_EQ(groups[1].kinds.at("kernel"), 1u);
  EXPECT_EQ(groups[1].kinds.at("fill"), 1u);
  EXPECT_EQ(groups[2].label, "layer 1");
  EXPECT_TRUE(group_nodes({}).empty());
}

/// Two named kernels and a fill over a pool with sizes 1 and 4.
class GraphReport : public ::testing::Test {
 protected:
  void SetUp() override {
    Step step;
    step.name = "double";
    step.bindings = {
        {.name = "out", .kind = BindingKind::output, .dtype = DType::f32, .row = Shape{}}};
    step.run = [](StepContext& context) {
      Stream& stream = context.stream();
      const TensorView out = context.tensor("out");
      stream.fill({out.data, out.bytes(), out.space}, 0);
      const LabelScope layer(stream, "layer 0");
      auto* values = out.as<float>();
      host::enqueue(stream, "first", [values] { values[0] += 1; });
      host::enqueue(stream, "bell\a\"", [values] { values[0] += 2; });
    };
    GraphPoolOptions options;
    options.sizes = {1, 4};
    pool_.emplace(device_, step, options);
    pool_->record();
  }
  const std::shared_ptr<Device> device_ = host::open({.threads = 1});
  std::optional<GraphPool> pool_;
};

TEST_F(GraphReport, TextShowsNodesGroupsAndSums) {
  EXPECT_EQ(graph_text(pool_->graph(4)),
            "index  kind          bytes  after        label\n"
            "    0  fill             16  -            (unnamed)\n"
            "    1  kernel            -  0            layer 0 / first\n"
            "    2  kernel            -  1            layer 0 / bell\\x07\"\n"
            "\n"
            "group      nodes  kinds\n"
            "(unnamed)      1  1 fill\n"
            "layer 0        2  2 kernel\n"
            "in all         3  1 fill, 2 kernel\n");
}

TEST(GraphText, ABodyStandsBelowItsNode) {
  EXPECT_EQ(graph_text(testing::fake_graph(testing::fake_loop())),
            "index  kind             bytes  after        label\n"
            "    0  kernel               -  -            begin\n"
            "    1  conditional          -  0            decode / steps\n"
            "       body of node 1:\n"
            "        0  copy              4096  -            decode / embed\n"
            "        1  conditional          -  0            decode / chosen\n"
            "           then of node 1:\n"
            "            0  conditional          -  -            decode / more\n"
            "               body of node 0:\n"
            "                0  kernel               -  -            one token\n"
            "            1  kernel               -  0            count\n"
            "           otherwise of node 1:\n"
            "            0  kernel               -  -            skip\n"
            "    2  kernel               -  1            end\n"
            "\n"
            "group      nodes  kinds\n"
            "begin          1  1 kernel\n"
            "decode         1  1 conditional\n"
            "end            1  1 kernel\n"
            "in all         3  1 conditional, 2 kernel\n");
}

TEST(GraphText, AGraphThatDiffersInABodyOnlyHasAnotherSignature) {
  const auto signature = [](const std::vector<NodeInfo>& nodes) {
    return testing::fake_graph(nodes).signature();
  };
  const std::uint64_t whole = signature(testing::fake_loop());
  EXPECT_EQ(signature(testing::fake_loop()), whole);
  std::vector<NodeInfo> nodes = testing::fake_loop();
  std::vector<NodeInfo>& then = nodes[1].bodies[0][1].bodies[0];
  then[0].bodies[0][0].attributes = 1;  // three bodies deep
  EXPECT_NE(signature(nodes), whole);
  nodes = testing::fake_loop();
  std::swap(nodes[1].bodies[0][1].bodies[0], nodes[1].bodies[0][1].bodies[1]);
  EXPECT_NE(signature(nodes), whole);
  nodes = testing::fake_loop();
  nodes[1].bodies[0][1].bodies.pop_back();
  EXPECT_NE(signature(nodes), whole);
  nodes = testing::fake_loop();
  nodes[1].bodies[0][1].dependencies.clear();
  EXPECT_NE(signature(nodes), whole);
}

TEST_F(GraphReport, BucketsShowStateAndCounts) {
  pool_->run(3, std::initializer_list<NamedInput>{});
  EXPECT_EQ(bucket_text(*pool_),
            " rows  state     self-test  nodes exec bytes   replays padded rows fallbacks\n"
            "    1  recorded  passed         3          -         0           0         0\n"
            "    4  recorded  passed         3          -         1           1         0\n"
            "executables: 2 live, 2 instantiated, 0 updated, 0 shared, 0 switched, 0 dropped, 0 "
            "thrashed\n");
}

TEST_F(GraphReport, JsonIsOneObject) {
  pool_->run(3, std::initializer_list<NamedInput>{});
  const std::array<std::pair<std::string, std::string>, 1> facts{{{"model", "a \"b\""}}};
  const auto json = nlohmann::json::parse(graph_json(*pool_, 4, facts));
  EXPECT_EQ(json["model"], "a \"b\"");
  EXPECT_EQ(json["rows"], 4);
  ASSERT_EQ(json["nodes"].size(), 3u);
  EXPECT_EQ(json["nodes"][0]["bytes"], 16);
  EXPECT_EQ(json["nodes"][1]["index"], 1);
  EXPECT_EQ(json["nodes"][1]["kind"], "kernel");
  EXPECT_EQ(json["nodes"][1]["label"], "layer 0 / first");
  EXPECT_EQ(json["nodes"][2]["dependencies"], nlohmann::json::array({1}));
  EXPECT_EQ(json["groups"][1]["nodes"], 2);
  EXPECT_EQ(json["node_counts"]["kernel"], 2);
  EXPECT_EQ(json["memory"]["statistics"]["num_ooms"], 0);
  ASSERT_EQ(json["buckets"].size(), 2u);
  EXPECT_EQ(json["buckets"][1]["state"], "recorded");
  EXPECT_EQ(json["buckets"][1]["padded_rows"], 1);
  EXPECT_EQ(json["buckets"][1]["self_test"], "passed");
  EXPECT_EQ(json["buckets"][1]["executable_bytes"], 0);
  EXPECT_EQ(json["executables"]["live"], 2);
  EXPECT_THROW(graph_json(*pool_, 2, facts), UsageError);
}

}  // namespace
}  // namespace reprise
