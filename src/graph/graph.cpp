// SPDX-License-Identifier: Apache-2.0
#include <reprise/graph.h>

#include "device/checks.h"
#include "graph/signature.h"

namespace reprise {

Graph::Graph(std::shared_ptr<Device> device, std::shared_ptr<const RecordedGraph> recorded)
    : device_(std::move(device)),
      recorded_(std::move(recorded)),
      signature_(structural_signature(recorded_->nodes())) {}

std::size_t Graph::node_count() const noexcept { return recorded_->nodes().size(); }

namespace {

ProgrammaticLaunch launch_of(const NodeInfo& node) {
  if (node.declared.programmatic) {
    return node.declared.supported ? ProgrammaticLaunch::made : ProgrammaticLaunch::unsupported;
  }
  // A library's own kernels declare nothing of the kind; the edge tells.
  return node.programmatic.empty() ? ProgrammaticLaunch::none : ProgrammaticLaunch::made;
}

}  // namespace

std::vector<GraphNode> Graph::nodes() const {
  std::vector<GraphNode> result;
  result.reserve(node_count());
  for (const NodeInfo& node : recorded_->nodes()) {
    result.push_back({.kind = std::string(to_string(node.kind)),
                      .label = node.label,
                      .function = node.function,
                      .bytes = node.bytes,
                      .dependencies = node.dependencies,
                      .launch = node.launch,
                      .programmatic_launch = launch_of(node),
                      .programmatic = node.programmatic});
  }
  return result;
}

std::uint64_t Graph::signature() const noexcept { return signature_; }

GraphExec Graph::instantiate() const {
  device_->state().require_usable();
  checks::refuse_on_recording_thread(
      device_->state(), "Graph::instantiate", [&] { return "device " + device_->label(); },
      "instantiate after the recorded function");
  return GraphExec(device_, recorded_->instantiate(), signature_);
}

}  // namespace reprise
