// SPDX-License-Identifier: Apache-2.0
// Recorded graphs as pictures and pages, for people who want to see what a step does. What is drawn
// is read back from the recording; nothing here runs or changes it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <reprise/graph.h>
#include <reprise/graph_pool.h>
#include <reprise/timeline.h>

namespace reprise {

/// What a picture says beside the graph. All text may hold anything: it is shown as text.
struct GraphCaption {
  std::string title = "recorded graph";
  /// Shown below the title: {"device", "NVIDIA H200"}.
  std::vector<std::pair<std::string, std::string>> facts = {};
  /// How long each node took, by its index in Graph::nodes(); empty where nobody measured. A
  /// negative number or NaN: this one was not measured. Any other length is a UsageError.
  std::vector<double> node_microseconds = {};
  /// Drawn on the page, below the graph; null where nobody measured. Of the same graph, or a
  /// UsageError; needed during the call only.
  const Timeline* timeline = nullptr;
};

/// Graphviz: a cluster per section (labels up to their first " / "), a box per node, all edges.
std::string graph_dot(const Graph& graph, const GraphCaption& caption = {});

/// One SVG document, drawn without other programs: a row per node, edges in lanes beside them. In a
/// graph of more than 40 nodes, layers that repeat an earlier one node by node are one row
/// together. Refers to nothing outside; follows the reader's light or dark theme.
std::string graph_svg(const Graph& graph, const GraphCaption& caption = {});

/// One HTML page: the graph folded by layer, a node's details on click, search by label. It holds
/// its styles, scripts and data, allows itself no network (Content-Security-Policy) and can be used
/// by keyboard alone.
std::string graph_html(const Graph& graph, const GraphCaption& caption = {});

/// The same about the recorded graph of `rows` rows, with the pool's sizes and its memory. Throws
/// UsageError where `rows` is not recorded.
std::string graph_html(const GraphPool& pool, int rows, const GraphCaption& caption = {});

}  // namespace reprise
