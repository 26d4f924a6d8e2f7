// SPDX-License-Identifier: Apache-2.0
// Timelines for people and tools. `timeline` is one of `graph`; another number of nodes is a
// UsageError. Labels may hold anything: they are shown as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <reprise/timeline.h>

namespace reprise {

/// A table for reading: what the replay takes as it serves and with stamps, a line for each kind of
/// node (labels alike but for the numbers at their ends: "layer * / qkv"), what ran side by side,
/// and the critical path.
std::string timeline_text(const Graph& graph, const Timeline& timeline);

/// The replay shown, in the Trace Event Format: opens in Perfetto (ui.perfetto.dev) and
/// chrome://tracing. One process named `title`, one thread for each lane, one complete event for
/// each node with its index, kind, function, bytes, grid and block, medians over all replays and
/// what ran beside it; arrows where a node waits for one of another lane. Times in microseconds.
std::string timeline_trace(const Graph& graph, const Timeline& timeline,
                           std::string_view title = "recorded graph");

/// The replay shown as one SVG document: a row for each lane, a box for each node, time from left
/// to right, so that what overlaps stands above one another. As graph_svg() otherwise.
std::string timeline_svg(const Graph& graph, const Timeline& timeline,
                         std::string_view title = "Timeline of one replay");

/// {"replays", "served_us": {"median", "p99"} or null, "stamped_us": {"median", "p99"}, "shown_us",
/// "floor_us", "overlap_us", "lanes", "critical_path": [index, …], "nodes": [{"index", "label",
/// "lane", "start_us", "end_us", "median_us", "p99_us", "interval_us", "beside_us", "beside":
/// [index, …]}], "groups": [{"label", "nodes", "median_us", "p99_us", "sum_us", "interval_us",
/// "beside_us"}]}: Timeline's fields, and the lines of timeline_text().
std::string timeline_json(const Graph& graph, const Timeline& timeline);

/// Median durations by node, as GraphCaption::node_microseconds takes them.
std::vector<double> node_microseconds(const Timeline& timeline);

}  // namespace reprise
