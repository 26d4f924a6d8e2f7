// SPDX-License-Identifier: Apache-2.0
#include "diag/graph_text.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "core/text.h"
#include "diag/node_groups.h"
#include "diag/node_text.h"
#include "diag/programmatic.h"

namespace reprise {
namespace {

constexpr std::string_view kUnnamed = "(unnamed)";

std::string shown(const std::string& label) {
  return label.empty() ? std::string(kUnnamed) : printable(label);
}

std::string bytes_of(std::size_t bytes) { return bytes == 0 ? "-" : std::to_string(bytes); }

std::string kinds_of(const std::map<std::string, std::size_t>& kinds) {
  std::string text;
  for (const auto& [kind, count] : kinds) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", count, kind);
  }
  return text;
}

/// "3,~4": the tilde marks a programmatic edge.
std::string after(const GraphNode& node) {
  std::string text;
  for (const std::uint32_t earlier : node.dependencies) {
    if (!text.empty()) text += ',';
    fmt::format_to(std::back_inserter(text), "{}{}", is_programmatic(node, earlier) ? "~" : "",
                   earlier);
  }
  return text.empty() ? "-" : text;
}

/// Letters of the longest kind, bodies included.
std::size_t kind_width(const std::vector<GraphNode>& nodes) {
  std::size_t width = 8;
  for (const GraphNode& node : nodes) {
    width = std::max(width, node.kind.size());
    for (const std::vector<GraphNode>& body : node.bodies) {
      width = std::max(width, kind_width(body));
    }
  }
  return width;
}

/// Bodies of a node stand below it, set in.
void add_node_lines(const std::vector<GraphNode>& nodes, std::size_t kinds, std::size_t depth,
                    std::string& text) {
  const std::string indent(4 * depth, ' ');
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const GraphNode& node = nodes[i];
    fmt::format_to(std::back_inserter(text), "{}{:>5}  {:<{}} {:>10}  {:<12} {}\n", indent, i,
                   node.kind, kinds, bytes_of(node.bytes), after(node), shown(node.label));
    for (std::size_t body = 0; body < node.bodies.size(); ++body) {
      fmt::format_to(std::back_inserter(text), "{}       {} of node {}:\n", indent,
                     body_name(node, body), i);
      add_node_lines(node.bodies[body], kinds, depth + 1, text);
    }
  }
}

std::string node_lines(const std::vector<GraphNode>& nodes) {
  const std::size_t kinds = kind_width(nodes);
  std::string text = fmt::format("{:>5}  {:<{}} {:>10}  {:<12} {}\n", "index", "kind", kinds,
                                 "bytes", "after", "label");
  add_node_lines(nodes, kinds, 0, text);
  return text;
}

}  // namespace

std::string graph_text(const Graph& graph) {
  const std::vector<GraphNode> nodes = graph.nodes();
  std::string text = node_lines(nodes);
  NodeGroup all;
  const std::vector<NodeGroup> groups = group_nodes(nodes);
  std::size_t width = kUnnamed.size();
  for (const NodeGroup& group : groups) width = std::max(width, shown(group.label).size());
  fmt::format_to(std::back_inserter(text), "\n{:<{}}  {:>5}  {}\n", "group", width, "nodes",
                 "kinds");
  for (const NodeGroup& group : groups) {
    fmt::format_to(std::back_inserter(text), "{:<{}}  {:>5}  {}\n", shown(group.label), width,
                   group.nodes, kinds_of(group.kinds));
    for (const auto& [kind, count] : group.kinds) all.kinds[kind] += count;
  }
  fmt::format_to(std::back_inserter(text), "{:<{}}  {:>5}  {}\n", "in all", width, nodes.size(),
                 kinds_of(all.kinds));
  const std::string programmatic = programmatic_text(programmatic_edges(nodes));
  if (!programmatic.empty()) {
    text += fmt::format("programmatic edges (~): {}\n", programmatic);
  }
  return text;
}

std::string bucket_text(const GraphPool& pool) {
  std::string text =
      fmt::format("{:>5}  {:<9} {:<9} {:>6} {:>10} {:>9} {:>11} {:>9}\n", "rows", "state",
                  "self-test", "nodes", "exec bytes", "replays", "padded rows", "fallbacks");
  for (const BucketReport& bucket : pool.buckets()) {
    fmt::format_to(std::back_inserter(text), "{:>5}  {:<9} {:<9} {:>6} {:>10} {:>9} {:>11} {:>9}",
                   bucket.rows, to_string(bucket.state), to_string(bucket.self_test), bucket.nodes,
                   bytes_of(bucket.executable_bytes), bucket.replays, bucket.padded_rows,
                   bucket.fallbacks);
    if (!bucket.variant.empty()) text += "  variant " + printable(bucket.variant);
    if (bucket.fake_replays > 0) text += fmt::format("  {} fake replays", bucket.fake_replays);
    if (!bucket.reason.empty()) text += "  " + printable(bucket.reason);
    text += '\n';
  }
  const ExecutableCounters executables = pool.executables();
  fmt::format_to(std::back_inserter(text),
                 "executables: {} live, {} instantiated, {} updated, {} shared, {} switched, {} "
                 "dropped, {} thrashed\n",
                 executables.live, executables.instantiated, executables.updated,
                 executables.shared, executables.switched, executables.dropped,
                 executables.thrashed);
  return text;
}

}  // namespace reprise
