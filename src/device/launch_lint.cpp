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

/// A node, and where it stands: bodies of loops and branches are part of the graph.
struct Placed {
  const NodeInfo* node;
  std::string place;  // "node 3", "node 1 in the body of node 3"
};

void place(std::span<const NodeInfo> nodes, const std::string& inside, std::vector<Placed>& all) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::string here = fmt::format("node {}{}", i, inside);
    for (const auto& body : nodes[i].bodies) place(body, " in a body of " + here, all);
    all.push_back({.node = &nodes[i], .place = std::move(here)});
  }
}

std::string describe(const Placed& placed) {
  const NodeInfo& node = *placed.node;
  const std::string& name = node.label.empty() ? node.function : node.label;
  return fmt::format("{} ({} '{}')", placed.place, to_string(node.kind), name);
}

std::string named(const KeptRange& range) {
  return range.label.empty() ? fmt::format("{} bytes at {}", range.bytes, fmt::ptr(range.data))
                             : fmt::format("'{}'", range.label);
}

bool overlap(const KeptRange& a, const KeptRange& b) {
  return a.bytes > 0 && b.bytes > 0 && a.data < b.data + b.bytes && b.data < a.data + a.bytes;
}

std::optional<std::string> missing_wait(const Placed& placed) {
  const NodeInfo& node = *placed.node;
  if (node.declared.waits || (!node.declared.programmatic && node.programmatic.empty())) {
    return std::nullopt;
  }
  return fmt::format(
      "{} is launched programmatically but does not declare that it waits for the kernel before "
      "it; {}",
      describe(placed), kHowToWait);
}

std::optional<std::string> written_prefetch(const Placed& reader, const Placed& writer) {
  for (const KeptRange& range : reader.node->declared.prefetches) {
    for (const KeptRange& written : writer.node->declared.writes) {
      if (!overlap(range, written)) continue;
      return fmt::format(
          "{} reads {} before it waits, but {} writes {}; read it after the wait, or keep the "
          "write out of the graph",
          describe(reader), named(range), describe(writer),
          written.label.empty() ? std::string("there") : named(written));
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
  std::vector<Placed> all;
  place(nodes, {}, all);
  for (const Placed& placed : all) {
    if (auto fault = missing_wait(placed)) return fault;
    if (!placed.node->declared.programmatic) continue;  // it starts when all before it is done
    for (const Placed& writer : all) {
      if (auto fault = written_prefetch(placed, writer)) return fault;
    }
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
