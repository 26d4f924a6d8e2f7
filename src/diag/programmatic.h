// SPDX-License-Identifier: Apache-2.0
// What became of the programmatic launches of a recorded graph: an edge that lets the kernel start
// early, or, where something stands between the two kernels, an ordinary one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include <reprise/graph.h>

namespace reprise {

struct ProgrammaticEdges {
  /// Kernels launched programmatically that come after something in the graph: the first node can
  /// overtake nothing.
  std::size_t launches = 0;
  std::size_t kept = 0;  ///< of those, with programmatic edges only
  /// The others, by what stands before them: "copy 'x'", "an event or another stream".
  std::map<std::string, std::size_t> broken;
  std::size_t unsupported = 0;  ///< launched plainly for want of the device
};

ProgrammaticEdges programmatic_edges(std::span<const GraphNode> nodes);

/// "12 of 14, 2 broken by copy 'x'"; "" where no kernel was to be launched programmatically.
std::string programmatic_text(const ProgrammaticEdges& edges);

/// True where the edge from `dependency` to `node` is a programmatic one.
bool is_programmatic(const GraphNode& node, std::uint32_t dependency) noexcept;

}  // namespace reprise
