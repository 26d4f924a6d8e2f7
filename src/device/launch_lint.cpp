// SPDX-License-Identifier: Apache-2.0
#include "device/launch_lint.h"

#include <fmt/format.h>

#include <reprise/error.h>

#include "device/checks.h"

namespace reprise {
namespace {

constexpr std::string_view kHowToWait =
    "let it wait before it touches memory (griddepcontrol.wait, or "
    "cudaGridDependencySynchronize()) and declare LaunchDeclaration::waits, or launch it plainly";

std::vector<KeptRange> keep(std::span<const DeclaredRange> ranges) {
  std::vector<KeptRange> kept;
  kept.reserve(ranges.size());
  for (const DeclaredRange& range : ranges) {
    kept.push_back({.data = static_cast<const std::byte*>(range.data),
                    .bytes = range.bytes,
                    .label = std::string(range.label)});
  }
  return kept;
}

std::string describe(std::span<const NodeInfo> nodes, std::size_t index) {
  const NodeInfo& node = nodes[index];
  const std::string& name = node.label.empty() ? node.function : node.label;
  return fmt::format("node {} ({} '{}')", index, to_string(node.kind), name);
}

std::string named(const KeptRange& range) {
  return range.label.empty() ? fmt::format("{} bytes at {}", range.bytes, fmt::ptr(range.data))
                             : fmt::format("'{}'", range.label);
}

bool overlap(const KeptRange& a, const KeptRange& b) {
  return a.bytes > 0 && b.bytes > 0 && a.data < b.data + b.bytes && b.data < a.data + a.bytes;
}

std::optional<std::string> missing_wait(std::span<const NodeInfo> nodes, std::size_t index) {
  const NodeInfo& node = nodes[index];
  if (node.declared.waits || (!node.declared.programmatic && node.programmatic.empty())) {
    return std::nullopt;
  }
  return fmt::format(
      "{} is launched programmatically but does not declare that it waits for the kernel before "
      "it; {}",
      describe(nodes, index), kHowToWait);
}

std::optional<std::string> written_prefetch(std::span<const NodeInfo> nodes, std::size_t index) {
  const DeclaredLaunch& reader = nodes[index].declared;
  if (!reader.programmatic) return std::nullopt;  // it starts when everything before it is done
  for (const KeptRange& range : reader.prefetches) {
    for (std::size_t writer = 0; writer < nodes.size(); ++writer) {
      for (const KeptRange& written : nodes[writer].declared.writes) {
        if (!overlap(range, written)) continue;
        return fmt::format(
            "{} reads {} before it waits, but {} writes {}; read it after the wait, or keep the "
            "write out of the graph",
            describe(nodes, index), named(range), describe(nodes, writer),
            written.label.empty() ? std::string("there") : named(written));
      }
    }
  }
  return std::nullopt;
}

}  // namespace

DeclaredLaunch keep(const LaunchDeclaration& declaration) {
  return {.programmatic = declaration.programmatic,
          .supported = true,
          .waits = declaration.waits,
          .triggers_early = declaration.triggers_early,
          .prefetches = keep(declaration.prefetches),
          .writes = keep(declaration.writes)};
}

std::optional<std::string> launch_fault(std::span<const NodeInfo> nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (auto fault = missing_wait(nodes, i)) return fault;
    if (auto fault = written_prefetch(nodes, i)) return fault;
  }
  return std::nullopt;
}

void require_declared_wait(const LaunchDeclaration& declaration, std::string_view call,
                           std::string_view label, const StreamState& stream) {
  if (!declaration.programmatic || declaration.waits) return;
  throw UsageError(
      fmt::format("{} of '{}' on {}: it is launched programmatically but does not declare that it "
                  "waits for the kernel before it; {}",
                  call, label, checks::describe(stream), kHowToWait));
}

}  // namespace reprise
