// SPDX-License-Identifier: Apache-2.0
// A recorded graph in sections, as pictures show it: nodes of one layer stand together, and layers
// that are alike are known as such, so that one of them can stand for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/graph.h>

namespace reprise {

/// Nodes that stand together and whose labels begin alike.
struct GraphSection {
  std::string label;                 ///< "layer 0"; "" for nodes that nobody named
  std::vector<std::uint32_t> nodes;  ///< indices, each after those it depends on
  /// The earliest section that this one repeats. Proven node by node: kind, function, label behind
  /// the section's name, bytes and launch are equal, as many edges are programmatic, and every edge
  /// comes from the same place: from
  /// the node of equal position in the section itself, from the very same node of a section that
  /// both share, or from the node equally far from the end of a section equally far before.
  std::optional<std::size_t> same_as;
};

/// The sections of `nodes` in an order of drawing: a node comes after those it depends on, a
/// section goes on as long as a node of it can, and otherwise the recorded order holds.
std::vector<GraphSection> outline(std::span<const GraphNode> nodes);

/// A label behind the name of its section: "attention / qkv" of "layer 3 / attention / qkv".
std::string_view label_in_section(std::string_view label) noexcept;

/// Sections in a row of which one picture is enough: `first` alone, or `count` of them from `first`
/// on whose numbers rise by one and that all repeat the same earlier section.
struct SectionRun {
  std::size_t first = 0;
  std::size_t count = 1;
  bool folded = false;  ///< they repeat sections[first].same_as
};
std::vector<SectionRun> fold(const std::vector<GraphSection>& sections);

/// "layer 3", or "layers 1–31" for several.
std::string run_label(const std::vector<GraphSection>& sections, const SectionRun& run);

}  // namespace reprise
