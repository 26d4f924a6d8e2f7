// SPDX-License-Identifier: Apache-2.0
#include "device/launch_lint.h"

#include <algorithm>

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

/// It may run before what is in front of it has ended: launched so, or put behind such an edge.
bool starts_early(const NodeInfo& node) {
  return node.declared.programmatic || !node.programmatic.empty();
}

bool lacks_wait(const NodeInfo& node) { return !node.declared.waits && starts_early(node); }

std::optional<std::string> missing_wait(const Placed& placed) {
  if (!lacks_wait(*placed.node)) return std::nullopt;
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

/// Stretches of memory that the nodes write, ascending, none touching another.
class Written {
 public:
  explicit Written(std::span<const NodeInfo> nodes) {
    add(nodes);
    std::sort(stretches_.begin(), stretches_.end(),
              [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
    std::size_t kept = 0;
    for (const Stretch& stretch : stretches_) {
      if (kept > 0 && stretch.begin <= stretches_[kept - 1].end) {
        stretches_[kept - 1].end = std::max(stretches_[kept - 1].end, stretch.end);
      } else {
        stretches_[kept++] = stretch;
      }
    }
    stretches_.resize(kept);
  }
  bool meets(const KeptRange& range) const {
    if (range.bytes == 0) return false;
    const Stretch asked = stretch_of(range);
    const auto next =
        std::partition_point(stretches_.begin(), stretches_.end(),
                             [&](const Stretch& stretch) { return stretch.end <= asked.begin; });
    return next != stretches_.end() && next->begin < asked.end;
  }

 private:
  struct Stretch {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
  };
  static Stretch stretch_of(const KeptRange& range) {
    const auto begin = reinterpret_cast<std::uintptr_t>(range.data);
    return {.begin = begin, .end = begin + range.bytes};
  }
  void add(std::span<const NodeInfo> nodes) {
    for (const NodeInfo& node : nodes) {
      for (const KeptRange& range : node.declared.writes) {
        if (range.bytes > 0) stretches_.push_back(stretch_of(range));
      }
      for (const auto& body : node.bodies) add(body);
    }
  }

  std::vector<Stretch> stretches_;
};

/// Whether there is a fault at all: every recording is asked this, and few have one to be told.
bool any_fault(std::span<const NodeInfo> nodes, const Written& written) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const NodeInfo& node) {
    const auto& prefetches = node.declared.prefetches;
    return lacks_wait(node) ||
           (starts_early(node) &&
            std::any_of(prefetches.begin(), prefetches.end(),
                        [&](const KeptRange& range) { return written.meets(range); })) ||
           std::any_of(node.bodies.begin(), node.bodies.end(),
                       [&](const auto& body) { return any_fault(body, written); });
  });
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
  if (!any_fault(nodes, Written(nodes))) return std::nullopt;
  std::vector<Placed> all;
  place(nodes, {}, all);
  for (const Placed& placed : all) {
    if (auto fault = missing_wait(placed)) return fault;
    if (!starts_early(*placed.node)) continue;  // it starts when all before it is done
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
