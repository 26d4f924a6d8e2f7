// SPDX-License-Identifier: Apache-2.0
// Recorded and executable graphs on a CUDA device. The recorded one keeps its template: an
// executable can be made, or brought up to date, from it at any time.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "device/backend.h"
#include "device/cuda/node_labels.h"

namespace reprise::cuda {

/// Owns a graph template.
class GraphHandle {
 public:
  explicit GraphHandle(cudaGraph_t graph) noexcept : graph_(graph) {}
  ~GraphHandle();
  GraphHandle(GraphHandle&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  GraphHandle& operator=(GraphHandle&&) = delete;
  cudaGraph_t get() const noexcept { return graph_; }

 private:
  cudaGraph_t graph_;
};

/// The nodes as CUDA holds them, and in the same order.
struct GraphNodes {
  std::vector<NodeInfo> infos;
  std::vector<cudaGraphNode_t> handles;
  InnerNodes inner;
};
/// "node 3 (kernel 'layer 0 / qkv', qkv_kernel)", for messages.
std::string describe_node(std::size_t index, const NodeInfo& info);

/// Reads kinds, functions, attributes and edges. Every node comes after those it depends on. Throws
/// CaptureError for a node that allocates or frees memory. Moves what `labels` says of each out.
GraphNodes read_nodes(cudaGraph_t graph, NodeLabels& labels, StreamState& stream);

class CudaGraph final : public RecordedGraph {
 public:
  CudaGraph(GraphHandle graph, GraphNodes nodes, DeviceState& device,
            std::vector<std::shared_ptr<void>> memory)
      : memory_(std::move(memory)),
        graph_(std::move(graph)),
        nodes_(std::move(nodes)),
        device_(device) {}
  std::span<const NodeInfo> nodes() const override { return nodes_.infos; }
  std::shared_ptr<ExecutableGraph> instantiate() const override;
  std::shared_ptr<ExecutableGraph> instantiate_stamped(std::uint64_t* stamps) const override;
  cudaGraph_t handle() const noexcept { return graph_.get(); }
  const std::vector<std::shared_ptr<void>>& memory() const noexcept { return memory_; }

 private:
  std::string describe_node(cudaGraphNode_t node) const;

  const std::vector<std::shared_ptr<void>> memory_;  // that the nodes use; goes after the graph
  GraphHandle graph_;
  GraphNodes nodes_;
  DeviceState& device_;  // outlives this: the public Graph holds both
};

/// Calls from several threads at once are the caller's to keep apart, as CUDA's are.
class CudaExecutable final : public ExecutableGraph {
 public:
  CudaExecutable(cudaGraphExec_t executable, DeviceState& device,
                 std::vector<std::shared_ptr<void>> memory)
      : executable_(executable), device_(device), memory_(std::move(memory)) {}
  ~CudaExecutable() override;
  CudaExecutable(const CudaExecutable&) = delete;
  CudaExecutable& operator=(const CudaExecutable&) = delete;

  void upload(StreamState& stream) override;
  void launch(StreamState& stream) override;
  UpdateOutcome update(const RecordedGraph& graph) override;
  void wait_idle() noexcept override;

 private:
  cudaGraphExec_t executable_;
  DeviceState& device_;
  // Of the graph that it runs. Giving memory back waits for work in flight (DeviceState::free).
  std::vector<std::shared_ptr<void>> memory_;
  // A launch runs after the one before, also on another stream: the last one is enough to wait for.
  // A stream that is gone was drained.
  std::weak_ptr<StreamState> last_stream_;
};

}  // namespace reprise::cuda
