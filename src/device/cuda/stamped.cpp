// SPDX-License-Identifier: Apache-2.0
// Recorded graphs with the time written down behind each node.
#include <algorithm>

#include <fmt/format.h>

#include "device/cuda/driver.h"
#include "device/cuda/graph.h"
#include "device/cuda/stamp_kernel.h"
#include "device/cuda/status.h"

namespace reprise::cuda {
namespace {

constexpr std::string_view kCall = "timing the nodes of a graph";

/// The copy of a graph, node for node.
GraphNodes copies_of(const GraphNodes& nodes, cudaGraph_t copy, DeviceState& device) {
  GraphNodes copies{.infos = nodes.infos, .handles = {}, .inner = {}};
  for (const cudaGraphNode_t node : nodes.handles) {
    cudaGraphNode_t found = nullptr;
    check(cudaGraphNodeFindInClone(&found, node, copy), device, kCall);
    copies.handles.push_back(found);
  }
  return copies;
}

/// Puts a stamp behind each node. What a node came after is now behind the stamp of that: a chain
/// stays one, and what could run side by side still can.
void add_stamps(cudaGraph_t graph, const GraphNodes& nodes, std::uint64_t* stamps,
                DeviceState& device) {
  NodeDependencies before;
  for (const cudaGraphNode_t node : nodes.handles) {
    check(node_dependencies(node, before), device, kCall);
    if (!before.nodes.empty()) check(remove_dependencies(graph, node, before), device, kCall);
  }
  cudaGraphNode_t begin = nullptr;
  check(add_stamp_node(graph, {}, stamps, begin), device, kCall);
  std::vector<cudaGraphNode_t> ends(nodes.handles.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    std::vector<cudaGraphNode_t> behind;
    for (const std::uint32_t earlier : nodes.infos[i].dependencies) {
      // Two edges between the same nodes, by different ports, become one.
      if (std::find(behind.begin(), behind.end(), ends[earlier]) == behind.end()) {
        behind.push_back(ends[earlier]);
      }
    }
    if (behind.empty()) behind.push_back(begin);
    check(add_dependencies(graph, nodes.handles[i], behind), device, kCall);
    check(add_stamp_node(graph, {nodes.handles[i]}, stamps + 2 + 2 * i, ends[i]), device, kCall);
  }
}

}  // namespace

std::shared_ptr<ExecutableGraph> CudaGraph::instantiate_stamped(std::uint64_t* stamps) const {
  for (const NodeInfo& node : nodes_.infos) {
    if (node.kind != NodeKind::conditional) continue;
    throw DeviceError(
        fmt::format("the nodes of this graph cannot be timed: '{}' is a conditional node, and CUDA "
                    "copies no graph that holds one; record the work outside of the loop or branch",
                    node.label));
  }
  check(cudaSetDevice(device_.properties.ordinal), device_, kCall);
  cudaGraph_t cloned = nullptr;
  check(cudaGraphClone(&cloned, graph_.get()), device_, kCall);
  GraphHandle owned(cloned);
  GraphNodes copies = copies_of(nodes_, cloned, device_);
  add_stamps(cloned, copies, stamps, device_);
  return CudaGraph(std::move(owned), std::move(copies), device_, memory_).instantiate();
}

}  // namespace reprise::cuda
