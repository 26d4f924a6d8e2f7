// SPDX-License-Identifier: Apache-2.0
#include "diag/json.h"

#include <map>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "diag/graph_outline.h"
#include "diag/node_groups.h"
#include "diag/node_text.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;  // keys stay in the order of writing

/// How every function here turns its tree into text.
std::string to_text(const Json& tree) {
  return tree.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json counter_json(const MemoryCounter& counter) {
  return {{"current", counter.current},
          {"peak", counter.peak},
          {"allocated", counter.allocated},
          {"freed", counter.freed}};
}

Json statistics_json(const MemoryStatistics& statistics) {
  return {{"allocation", counter_json(statistics.allocation)},
          {"allocated_bytes", counter_json(statistics.allocated_bytes)},
          {"requested_bytes", counter_json(statistics.requested_bytes)},
          {"segment", counter_json(statistics.segment)},
          {"reserved_bytes", counter_json(statistics.reserved_bytes)},
          {"inactive_split", counter_json(statistics.inactive_split)},
          {"inactive_split_bytes", counter_json(statistics.inactive_split_bytes)},
          {"num_alloc_retries", statistics.num_alloc_retries},
          {"num_ooms", statistics.num_ooms},
          {"fragmentation", statistics.fragmentation()}};
}

Json segment_json(const SegmentInfo& segment) {
  Json blocks = Json::array();
  for (const BlockInfo& block : segment.blocks) {
    blocks.push_back({{"offset", block.offset},
                      {"bytes", block.bytes},
                      {"requested_bytes", block.requested_bytes},
                      {"state", block.allocated ? "allocated" : "free"},
                      {"label", block.label}});
  }
  // An address as a number would lose digits in readers that keep numbers as doubles.
  return {{"address", fmt::format("{:#x}", segment.address)},
          {"bytes", segment.bytes},
          {"blocks", std::move(blocks)}};
}

Json memory_tree(const MemoryPool& pool) {
  Json segments = Json::array();
  for (const SegmentInfo& segment : pool.snapshot()) segments.push_back(segment_json(segment));
  return {{"pool", pool.name()},
          {"device", pool.device().label()},
          {"statistics", statistics_json(pool.statistics())},
          {"segments", std::move(segments)}};
}

Json launch_json(const LaunchGeometry& launch) {
  return {{"grid", launch.grid},
          {"block", launch.block},
          {"cluster", launch.cluster},
          {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
          {"static_shared_bytes", launch.static_shared_bytes},
          {"registers", launch.registers}};
}

/// `microseconds`: empty, or one for each node.
Json nodes_json(const std::vector<GraphNode>& nodes, std::span<const double> microseconds) {
  Json list = Json::array();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    list.push_back({{"index", i},
                    {"kind", nodes[i].kind},
                    {"label", nodes[i].label},
                    {"function", nodes[i].function},
                    {"bytes", nodes[i].bytes},
                    {"dependencies", nodes[i].dependencies}});
    if (nodes[i].launch) list.back()["launch"] = launch_json(*nodes[i].launch);
    if (!microseconds.empty() && measured(microseconds[i])) {
      list.back()["microseconds"] = microseconds[i];
    }
  }
  return list;
}

Json sections_json(const std::vector<GraphSection>& sections) {
  Json list = Json::array();
  for (const GraphSection& section : sections) {
    list.push_back({{"label", section.label}, {"nodes", section.nodes}, {"same_as", nullptr}});
    if (section.same_as) list.back()["same_as"] = *section.same_as;
  }
  return list;
}

Json runs_json(const std::vector<GraphSection>& sections) {
  Json list = Json::array();
  for (const SectionRun& run : fold(sections)) {
    list.push_back({{"first", run.first},
                    {"count", run.count},
                    {"folded", run.folded},
                    {"label", run_label(sections, run)}});
  }
  return list;
}

Json groups_json(const std::vector<NodeGroup>& groups) {
  Json list = Json::array();
  for (const NodeGroup& group : groups) {
    list.push_back({{"label", group.label},
                    {"nodes", group.nodes},
                    {"bytes", group.bytes},
                    {"kinds", group.kinds}});
  }
  return list;
}

Json buckets_json(const std::vector<BucketReport>& buckets) {
  Json list = Json::array();
  for (const BucketReport& bucket : buckets) {
    list.push_back({{"rows", bucket.rows},
                    {"variant", bucket.variant},
                    {"state", to_string(bucket.state)},
                    {"reason", bucket.reason},
                    {"self_test", to_string(bucket.self_test)},
                    {"nodes", bucket.nodes},
                    {"executable_bytes", bucket.executable_bytes},
                    {"replays", bucket.replays},
                    {"fake_replays", bucket.fake_replays},
                    {"padded_rows", bucket.padded_rows},
                    {"fallbacks", bucket.fallbacks}});
  }
  return list;
}

Json executables_json(const ExecutableCounters& executables) {
  return {{"live", executables.live},         {"instantiated", executables.instantiated},
          {"updated", executables.updated},   {"shared", executables.shared},
          {"switched", executables.switched}, {"dropped", executables.dropped},
          {"thrashed", executables.thrashed}};
}

}  // namespace

std::string memory_json(const MemoryPool& pool) { return to_text(memory_tree(pool)); }

std::string graph_json(const GraphPool& pool, int rows,
                       std::span<const std::pair<std::string, std::string>> facts) {
  const Graph& graph = pool.graph(rows);
  const std::vector<GraphNode> nodes = graph.nodes();
  std::map<std::string, std::size_t> kinds;
  for (const GraphNode& node : nodes) ++kinds[node.kind];
  Json tree = Json::object();
  for (const auto& [name, value] : facts) tree[name] = value;
  tree["rows"] = rows;
  tree["signature"] = fmt::format("{:#018x}", graph.signature());
  tree["nodes"] = nodes_json(nodes, {});
  tree["groups"] = groups_json(group_nodes(nodes));
  tree["node_counts"] = kinds;
  tree["memory"] = memory_tree(*pool.memory());
  tree["buckets"] = buckets_json(pool.buckets());
  tree["executables"] = executables_json(pool.executables());
  return to_text(tree);
}

std::string graph_page_json(const std::vector<GraphNode>& nodes,
                            std::span<const double> microseconds) {
  const std::vector<GraphSection> sections = outline(nodes);
  const Json tree = {{"nodes", nodes_json(nodes, microseconds)},
                     {"sections", sections_json(sections)},
                     {"runs", runs_json(sections)}};
  return tree.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace reprise
