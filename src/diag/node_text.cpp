// SPDX-License-Identifier: Apache-2.0
#include "diag/node_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <reprise/error.h>

#include "core/bytes.h"

namespace reprise {
namespace {

using Sides = std::array<std::uint32_t, 3>;

/// "132", "(4, 2)", "(4, 2, 3)": sides of 1 at the end say nothing.
std::string sides_text(const Sides& sides) {
  if (sides[2] != 1) return fmt::format("({}, {}, {})", sides[0], sides[1], sides[2]);
  if (sides[1] != 1) return fmt::format("({}, {})", sides[0], sides[1]);
  return std::to_string(sides[0]);
}

}  // namespace

std::string launch_text(const LaunchGeometry& launch) {
  return sides_text(launch.grid) + " × " + sides_text(launch.block);
}

std::string resources_text(const LaunchGeometry& launch) {
  const std::size_t shared = launch.dynamic_shared_bytes + launch.static_shared_bytes;
  std::string text;
  if (shared > 0) text = format_bytes(shared) + " shared";
  if (launch.registers > 0) {
    text += fmt::format("{}{} registers", text.empty() ? "" : ", ", launch.registers);
  }
  return text;
}

std::string time_text(double microseconds) {
  return measured(microseconds) ? fmt::format("{:.1f} µs", microseconds) : std::string();
}

std::string content_text(std::span<const GraphNode> nodes, std::span<const std::uint32_t> which) {
  std::map<std::string_view, std::size_t> kinds;
  std::size_t bytes = 0;
  for (const std::uint32_t node : which) {
    ++kinds[nodes[node].kind];
    bytes += nodes[node].bytes;
  }
  const std::string_view noun = which.size() == 1 ? "node" : "nodes";
  std::string text;
  if (kinds.size() == 1) {
    text = fmt::format("{} {} {}", which.size(), kinds.begin()->first, noun);
  } else {
    text = fmt::format("{} {}", which.size(), noun);
    std::string_view separator = ": ";
    for (const auto& [kind, count] : kinds) {
      text += fmt::format("{}{} {}", separator, count, kind);
      separator = ", ";
    }
  }
  if (bytes > 0) text += ", " + format_bytes(bytes) + " moved";
  return text;
}

std::string_view kind_class(std::string_view kind) noexcept {
  constexpr std::array<std::string_view, 6> kKnown = {"kernel", "copy",  "fill",
                                                      "event",  "child", "conditional"};
  for (const std::string_view known : kKnown) {
    if (kind == known) return known;
  }
  return "other";
}

std::string_view function_beside_label(const GraphNode& node) noexcept {
  return std::string_view(node.label).ends_with(node.function) ? std::string_view() : node.function;
}

std::string_view without_namespaces(std::string_view function) noexcept {
  const std::size_t arguments = std::min(function.find('<'), function.size());
  const std::size_t last = function.substr(0, arguments).rfind("::");
  // In "(anonymous namespace)::f" and the like the part behind the last "::" is the name as well.
  return last == std::string_view::npos ? function : function.substr(last + 2);
}

std::string_view body_name(const GraphNode& node, std::size_t body) noexcept {
  if (node.function != "if") return "body";
  return body == 0 ? "then" : "otherwise";
}

void check_times(const GraphCaption& caption, std::size_t nodes) {
  const std::size_t times = caption.node_microseconds.size();
  if (times == 0 || times == nodes) return;
  throw UsageError(
      fmt::format("GraphCaption holds {} node times, but the graph has {} nodes; give one for each "
                  "node, or none",
                  times, nodes));
}

bool measured(double microseconds) noexcept {
  return std::isfinite(microseconds) && microseconds >= 0;
}

}  // namespace reprise
