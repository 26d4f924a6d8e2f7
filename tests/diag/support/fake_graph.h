// SPDX-License-Identifier: Apache-2.0
// Graphs of any shape, made of nodes instead of recorded.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <reprise/graph.h>
#include <reprise/host.h>

#include "device/backend.h"

namespace reprise::testing {

class FakeRecording : public RecordedGraph {
 public:
  explicit FakeRecording(std::vector<NodeInfo> nodes) : nodes_(std::move(nodes)) {}
  std::span<const NodeInfo> nodes() const override { return nodes_; }
  std::shared_ptr<ExecutableGraph> instantiate() const override { return nullptr; }

 private:
  std::vector<NodeInfo> nodes_;
};

inline Graph fake_graph(std::vector<NodeInfo> nodes) {
  return Graph(host::open({.threads = 1}), std::make_shared<FakeRecording>(std::move(nodes)));
}

inline NodeInfo fake_node(std::string label, std::vector<std::uint32_t> dependencies = {},
                          NodeKind kind = NodeKind::kernel) {
  NodeInfo node;
  node.kind = kind;
  node.label = std::move(label);
  node.dependencies = std::move(dependencies);
  return node;
}

/// A step such as a language model's: an input copy, embed, `layers` layers of nine kernels with
/// launches, head. A chain, but that each layer's norms may run beside its attention.
std::vector<NodeInfo> fake_step(int layers);

/// A loop over an embedding, a branch with both sides, the larger one in a loop of its own, and a
/// kernel after it.
std::vector<NodeInfo> fake_loop();

/// Labels that try to be more than text, in every format.
std::vector<std::string> hostile_labels();

}  // namespace reprise::testing
