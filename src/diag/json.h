// SPDX-License-Identifier: Apache-2.0
// Facts about graphs and memory as JSON text. The one place in diag/ that knows a JSON library
// (json.cpp); its types stay there: facts come in, text goes out. Text that is not UTF-8 is written
// with replacement characters.
#pragma once

#include <span>
#include <string>
#include <utility>

#include <reprise/graph_pool.h>
#include <reprise/memory_pool.h>

namespace reprise {

/// {"pool", "device", "statistics": {counter: {"current", "peak", "allocated", "freed"}, …,
/// "num_alloc_retries", "num_ooms", "fragmentation"}, "segments": [{"address": "0x…", "bytes",
/// "blocks": [{"offset", "bytes", "requested_bytes", "state": "allocated"|"free", "label"}]}]}.
/// Bytes are integers. Statistics and segments are taken one after the other.
std::string memory_json(const MemoryPool& pool);

/// {…facts, "rows", "signature": "0x…", "nodes": [{"index", "kind", "label", "function", "bytes",
/// "dependencies": [index, …]}], "groups": [{"label", "nodes", "bytes", "kinds": {kind: count}}],
/// "node_counts": {kind: count}, "memory": {as memory_json}, "buckets": [{"rows", "state",
/// "reason", "nodes", "replays", "fake_replays", "padded_rows", "fallbacks"}]} about the recorded
/// graph of `rows` rows. `facts` are the caller's, text to text. Throws UsageError where `rows` is
/// not recorded.
std::string graph_json(const GraphPool& pool, int rows,
                       std::span<const std::pair<std::string, std::string>> facts);

}  // namespace reprise
