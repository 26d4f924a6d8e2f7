// SPDX-License-Identifier: Apache-2.0
// graph_dot(): the language of Graphviz.
#include <iterator>

#include <fmt/format.h>

#include <reprise/graph_picture.h>

#include "core/bytes.h"
#include "diag/graph_outline.h"
#include "diag/markup.h"
#include "diag/node_text.h"
#include "diag/programmatic.h"

namespace reprise {
namespace {

/// Lines of a label. The break between them is Graphviz's own escape, outside of the quoting.
std::string lines(std::span<const std::string> texts) {
  std::string label = "\"";
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    if (label.size() > 1) label += "\\n";
    const std::string quoted = dot_quoted(text);
    label += std::string_view(quoted).substr(1, quoted.size() - 2);
  }
  return label + '"';
}

std::string_view colour(std::string_view kind) {
  const std::string_view known = kind_class(kind);
  if (known == "kernel") return "#2a66cf";
  if (known == "copy") return "#b8590a";
  if (known == "fill") return "#0b7f63";
  if (known == "child") return "#7447c8";
  if (known == "conditional") return "#b8326f";
  return "#75726a";
}

/// `name`: "n4", or "n4_0_2" for a node of a body.
std::string node_line(const std::string& name, std::size_t index, const GraphNode& node,
                      double microseconds) {
  const std::string_view inside = label_in_section(node.label);
  std::string first(inside.empty() ? std::string_view(node.label) : inside);
  if (first.empty()) first = node.function.empty() ? node.kind : node.function;
  std::vector<std::string> texts{first};
  const std::string_view function = function_beside_label(node);
  if (function != first) texts.emplace_back(without_namespaces(function));
  if (node.launch) texts.push_back(launch_text(*node.launch));
  if (node.launch) texts.push_back(resources_text(*node.launch));
  if (node.bytes > 0) texts.push_back(format_bytes(node.bytes));
  texts.push_back(time_text(microseconds));
  return fmt::format("    {} [label={}, color=\"{}\", tooltip={}];\n", name, lines(texts),
                     colour(node.kind), dot_quoted(fmt::format("node {}: {}", index, node.kind)));
}

/// The bodies of node `name` as boxes, each with a dashed edge from the node to its first one.
void add_bodies(const std::string& name, const GraphNode& node, std::string& text) {
  for (std::size_t body = 0; body < node.bodies.size(); ++body) {
    const std::vector<GraphNode>& nodes = node.bodies[body];
    const std::string inside = fmt::format("{}_{}", name, body);
    const std::string_view role = body_name(node, body);
    fmt::format_to(std::back_inserter(text),
                   "  subgraph cluster_{} {{\n    label={};\n    style=dashed;\n", inside,
                   dot_quoted(fmt::format("{}: {}", node.label, role)));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      text += node_line(fmt::format("{}_{}", inside, i), i, nodes[i], -1);
      add_bodies(fmt::format("{}_{}", inside, i), nodes[i], text);
    }
    text += "  }\n";
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const std::uint32_t from : nodes[i].dependencies) {
        fmt::format_to(std::back_inserter(text), "  {0}_{1} -> {0}_{2};\n", inside, from, i);
      }
    }
    if (nodes.empty()) continue;
    fmt::format_to(std::back_inserter(text), "  {} -> {}_0 [style=dashed, label={}];\n", name,
                   inside, dot_quoted(role));
  }
}

constexpr std::string_view kStyle = R"(  rankdir=TB;
  labelloc=t;
  fontname="Helvetica";
  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="Helvetica", fontsize=10];
  edge [color="#75726a", arrowsize=0.6, fontname="Helvetica", fontsize=9];
)";

}  // namespace

std::string graph_dot(const Graph& graph, const GraphCaption& caption) {
  const std::vector<GraphNode> nodes = graph.nodes();
  check_times(caption, nodes.size());
  std::vector<std::string> heading{caption.title};
  for (const auto& [name, value] : caption.facts) heading.push_back(name + ": " + value);
  std::string text = fmt::format("digraph step {{\n  label={};\n{}", lines(heading), kStyle);
  const std::vector<GraphSection> sections = outline(nodes);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::string_view name = sections[i].label;
    // Only subgraphs named so are drawn as boxes; nodes that nobody named get none.
    text += name.empty()
                ? fmt::format("  subgraph unnamed_{} {{\n", i)
                : fmt::format("  subgraph cluster_{} {{\n    label={};\n    color=\"#a9a69c\";\n",
                              i, dot_quoted(name));
    for (const std::uint32_t node : sections[i].nodes) {
      const bool timed = !caption.node_microseconds.empty();
      text += node_line(fmt::format("n{}", node), node, nodes[node],
                        timed ? caption.node_microseconds[node] : -1);
    }
    text += "  }\n";
    for (const std::uint32_t node : sections[i].nodes) {
      add_bodies(fmt::format("n{}", node), nodes[node], text);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint32_t from : nodes[i].dependencies) {
      fmt::format_to(std::back_inserter(text), "  n{} -> n{}{};\n", from, i,
                     is_programmatic(nodes[i], from) ? " [style=dashed]" : "");
    }
  }
  return text + "}\n";
}

}  // namespace reprise
