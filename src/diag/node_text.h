// SPDX-License-Identifier: Apache-2.0
// What pictures write beside a node.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <reprise/graph.h>
#include <reprise/graph_picture.h>

namespace reprise {

/// Blocks by threads: "132 × 256", "(4, 2) × (32, 8)".
std::string launch_text(const LaunchGeometry& launch);
/// "48.0 KiB shared, 128 registers", "" where neither is known.
std::string resources_text(const LaunchGeometry& launch);
/// "3.2 µs"; "" where `microseconds` is none.
std::string time_text(double microseconds);
/// "9 nodes: 8 kernel, 1 copy, 3.0 KiB moved"; "9 kernel nodes".
std::string content_text(std::span<const GraphNode> nodes, std::span<const std::uint32_t> which);
/// The class of picture.css that colours a kind.
std::string_view kind_class(std::string_view kind) noexcept;
/// The kernel's name where the label does not say it already; else "".
std::string_view function_beside_label(const GraphNode& node) noexcept;
/// A kernel's name without the namespaces before it: "matmul_kernel<ns::half>".
std::string_view without_namespaces(std::string_view function) noexcept;

/// What a conditional node's body is to it: "body", "then", "otherwise".
std::string_view body_name(const GraphNode& node, std::size_t body) noexcept;

/// Throws UsageError unless `caption` has no times or one for each of `nodes` nodes.
void check_times(const GraphCaption& caption, std::size_t nodes);
bool measured(double microseconds) noexcept;

}  // namespace reprise
