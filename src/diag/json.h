// SPDX-License-Identifier: Apache-2.0
// Facts about graphs and memory as JSON text. The one place in diag/ that knows a JSON library
// (json.cpp); its types stay there: facts come in, text goes out. Text that is not UTF-8 is written
// with replacement characters. memory_json() is declared in <reprise/memory_pool.h>, the
// formats of timelines in <reprise/timeline_report.h>.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <reprise/graph_pool.h>
#include <reprise/memory_pool.h>
#include <reprise/timeline.h>

namespace reprise {

/// {…facts, "rows", "signature": "0x…", "nodes": [{"index", "kind", "label", "function", "bytes",
/// "dependencies": [index, …], "launch"?: {"grid": [x, y, z], "block", "cluster",
/// "dynamic_shared_bytes", "static_shared_bytes", "registers"}, "microseconds"?}], "groups":
/// [{"label", "nodes", "bytes", "kinds": {kind: count}}], "node_counts": {kind: count}, "memory":
/// {as memory_json}, "buckets": [{"rows", "state", "reason", "nodes", "replays", "fake_replays",
/// "padded_rows", "fallbacks"}]} about the recorded graph of `rows` rows. `facts` are the caller's,
/// text to text. With `timeline`, a node's "microseconds" is its median, and "timeline" is as
/// timeline_json() in <reprise/timeline_report.h>. Throws UsageError where `rows` is not recorded.
std::string graph_json(const GraphPool& pool, int rows,
                       std::span<const std::pair<std::string, std::string>> facts,
                       const Timeline* timeline = nullptr);

/// What page/graph.js reads, in ASCII: {"nodes": as above, "sections": [{"label", "nodes": [index,
/// …], "same_as": number of a section or null}], "runs": [{"first", "count", "folded", "label"}]}
/// (diag/graph_outline.h). `microseconds`: as GraphCaption::node_microseconds.
std::string graph_page_json(const std::vector<GraphNode>& nodes,
                            std::span<const double> microseconds);

}  // namespace reprise
