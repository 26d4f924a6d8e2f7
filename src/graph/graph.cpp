// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <reprise/graph.h>

#include "device/checks.h"
#include "graph/signature.h"

namespace reprise {

Graph::Graph(std::shared_ptr<Device> device, std::shared_ptr<const RecordedGraph> recorded)
    : device_(std::move(device)),
      recorded_(std::move(recorded)),
      signature_(structural_signature(recorded_->nodes())) {}

namespace {

ProgrammaticLaunch launch_of(const NodeInfo& node) {
  if (node.declared.programmatic) {
    return node.declared.supported ? ProgrammaticLaunch::made : ProgrammaticLaunch::unsupported;
  }
  // A library's own kernels declare nothing of the kind; the edge tells.
  return node.programmatic.empty() ? ProgrammaticLaunch::none : ProgrammaticLaunch::made;
}

std::vector<GraphNode> public_nodes(std::span<const NodeInfo> nodes) {
  std::vector<GraphNode> result;
  result.reserve(nodes.size());
  for (const NodeInfo& node : nodes) {
    result.push_back({.kind = std::string(to_string(node.kind)),
                      .label = node.label,
                      .function = node.function,
                      .bytes = node.bytes,
                      .dependencies = node.dependencies,
                      .launch = node.launch,
                      .bodies = {},
                      .programmatic_launch = launch_of(node),
                      .programmatic = node.programmatic});
    for (const auto& body : node.bodies) result.back().bodies.push_back(public_nodes(body));
  }
  return result;
}

}  // namespace

std::size_t Graph::node_count() const noexcept { return recorded_->nodes().size(); }

std::vector<GraphNode> Graph::nodes() const { return public_nodes(recorded_->nodes()); }

std::uint64_t Graph::signature() const noexcept { return signature_; }

GraphExec Graph::instantiate() const {
  device_->state().require_usable();
  checks::refuse_on_recording_thread(
      device_->state(), "Graph::instantiate", [&] { return "device " + device_->label(); },
      "instantiate after the recorded function");
  if (!has_conditional(recorded_->nodes())) {
    return GraphExec(device_, recorded_->instantiate(), signature_);
  }
  const std::lock_guard lock(recorded_->executable_mutex);
  if (!recorded_->executable.expired()) {
    throw UsageError(fmt::format(
        "Graph::instantiate on device {}: the graph holds a loop or a branch and has an "
        "executable already, and may have one at a time; record it again for a second, "
        "or destroy the first before (one destroyed while something records goes when that ends)",
        device_->label()));
  }
  auto executable = recorded_->instantiate();
  recorded_->executable = executable;
  return GraphExec(device_, std::move(executable), signature_);
}

}  // namespace reprise
