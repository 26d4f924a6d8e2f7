// SPDX-License-Identifier: Apache-2.0
#include "diag/json.h"

#include <map>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <reprise/timeline_report.h>

#include "diag/graph_outline.h"
#include "diag/node_groups.h"
#include "diag/node_text.h"
#include "diag/timeline_groups.h"

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
                    {"state", to_string(bucket.state)},
                    {"reason", bucket.reason},
                    {"nodes", bucket.nodes},
                    {"replays", bucket.replays},
                    {"fake_replays", bucket.fake_replays},
                    {"padded_rows", bucket.padded_rows},
                    {"fallbacks", bucket.fallbacks}});
  }
  return list;
}

Json samples_json(const TimeSamples& samples) {
  if (samples.microseconds.empty()) return nullptr;
  return {{"median", samples.median()}, {"p99", samples.p99()}};
}

Json node_times_json(const std::vector<GraphNode>& nodes, const Timeline& timeline) {
  Json list = Json::array();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeTime& time = timeline.nodes[i];
    list.push_back({{"index", i},
                    {"label", nodes[i].label},
                    {"lane", time.lane},
                    {"start_us", time.start_us},
                    {"end_us", time.end_us},
                    {"median_us", time.median_us},
                    {"p99_us", time.p99_us},
                    {"interval_us", time.interval_us},
                    {"beside_us", time.beside_us},
                    {"beside", time.beside}});
  }
  return list;
}

Json timeline_tree(const std::vector<GraphNode>& nodes, const Timeline& timeline) {
  Json groups = Json::array();
  for (const TimeGroup& group : time_groups(nodes, timeline)) {
    groups.push_back({{"label", group.label},
                      {"nodes", group.nodes},
                      {"median_us", group.median_us},
                      {"p99_us", group.p99_us},
                      {"sum_us", group.sum_us},
                      {"interval_us", group.interval_us},
                      {"beside_us", group.beside_us}});
  }
  return {{"replays", timeline.stamped.microseconds.size()},
          {"served_us", samples_json(timeline.served)},
          {"stamped_us", samples_json(timeline.stamped)},
          {"shown_us", timeline.shown_us},
          {"floor_us", timeline.floor_us},
          {"overlap_us", timeline.overlap_us},
          {"lanes", timeline.lanes},
          {"critical_path", timeline.critical_path},
          {"nodes", node_times_json(nodes, timeline)},
          {"groups", std::move(groups)}};
}

constexpr int kProcess = 1;  // all of a trace is one; 0 is special to some readers

Json named_json(std::string_view what, std::size_t lane, std::string_view name) {
  return {{"ph", "M"},
          {"name", what},
          {"pid", kProcess},
          {"tid", lane},
          {"args", {{"name", std::string(name)}}}};
}

/// A node as a complete event.
Json event_json(std::size_t index, const GraphNode& node, const NodeTime& time) {
  Json args = {{"node", index},
               {"kind", node.kind},
               {"function", node.function},
               {"median_us", time.median_us},
               {"p99_us", time.p99_us},
               {"beside", time.beside}};
  if (node.bytes > 0) args["bytes"] = node.bytes;
  if (node.launch) {
    args["grid"] = node.launch->grid;
    args["block"] = node.launch->block;
  }
  return {{"ph", "X"},
          {"name", !node.label.empty()      ? node.label
                   : !node.function.empty() ? node.function
                                            : node.kind},
          {"cat", node.kind},
          {"pid", kProcess},
          {"tid", time.lane},
          {"ts", time.start_us},
          {"dur", time.end_us - time.start_us},
          {"args", std::move(args)}};
}

/// An arrow from a node to one of another lane: two events that share a number.
void append_arrow(Json& events, const NodeTime& from, const NodeTime& to, std::size_t number) {
  const auto end = [&](std::string_view phase, const NodeTime& time, double at) {
    return Json{{"ph", phase},  {"name", "waits for"}, {"cat", "dependency"},
                {"id", number}, {"pid", kProcess},     {"tid", time.lane},
                {"ts", at}};
  };
  // Inside of its node, or the reader ties it to none.
  events.push_back(end("s", from, (from.start_us + from.end_us) / 2));
  events.push_back(end("f", to, to.start_us));
  events.back()["bp"] = "e";
}

Json trace_tree(const std::vector<GraphNode>& nodes, const Timeline& timeline,
                std::string_view title) {
  Json events = Json::array();
  events.push_back(named_json("process_name", 0, title));
  for (std::size_t lane = 0; lane < timeline.lanes; ++lane) {
    events.push_back(named_json("thread_name", lane, fmt::format("lane {}", lane)));
  }
  std::size_t arrows = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeTime& time = timeline.nodes[i];
    events.push_back(event_json(i, nodes[i], time));
    for (const std::uint32_t earlier : nodes[i].dependencies) {
      const NodeTime& from = timeline.nodes[earlier];
      if (from.lane != time.lane) append_arrow(events, from, time, arrows++);
    }
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

}  // namespace

std::string memory_json(const MemoryPool& pool) { return to_text(memory_tree(pool)); }

std::string graph_json(const GraphPool& pool, int rows,
                       std::span<const std::pair<std::string, std::string>> facts,
                       const Timeline* timeline) {
  const Graph& graph = pool.graph(rows);
  const std::vector<GraphNode> nodes = graph.nodes();
  std::map<std::string, std::size_t> kinds;
  for (const GraphNode& node : nodes) ++kinds[node.kind];
  Json tree = Json::object();
  for (const auto& [name, value] : facts) tree[name] = value;
  tree["rows"] = rows;
  tree["signature"] = fmt::format("{:#018x}", graph.signature());
  if (timeline != nullptr) require_times(*timeline, nodes.size());
  const std::vector<double> times =
      timeline == nullptr ? std::vector<double>{} : node_microseconds(*timeline);
  tree["nodes"] = nodes_json(nodes, times);
  tree["groups"] = groups_json(group_nodes(nodes));
  tree["node_counts"] = kinds;
  tree["memory"] = memory_tree(*pool.memory());
  tree["buckets"] = buckets_json(pool.buckets());
  if (timeline != nullptr) tree["timeline"] = timeline_tree(nodes, *timeline);
  return to_text(tree);
}

std::string timeline_json(const Graph& graph, const Timeline& timeline) {
  return to_text(timeline_tree(graph.nodes(), timeline));
}

std::string timeline_trace(const Graph& graph, const Timeline& timeline, std::string_view title) {
  const std::vector<GraphNode> nodes = graph.nodes();
  require_times(timeline, nodes.size());
  return trace_tree(nodes, timeline, title).dump(-1, ' ', true, Json::error_handler_t::replace) +
         '\n';
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
