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
};

/// Reads kinds, functions, attributes and edges. Every node comes after those it depends on. Throws
/// CaptureError for a node that allocates or frees memory.
GraphNodes read_nodes(cudaGraph_t graph, const NodeLabels& labels, StreamState& stream);

class CudaGraph final : public RecordedGraph {
 public:
  CudaGraph(GraphHandle graph, GraphNodes nodes, DeviceState& device)
      : graph_(std::move(graph)), nodes_(std::move(nodes)), device_(device) {}
  std::span<const NodeInfo> nodes() const override { return nodes_.infos; }
  std::shared_ptr<ExecutableGraph> instantiate() const override;
  std::shared_ptr<ExecutableGraph> instantiate_stamped(std::uint64_t* stamps) const override;
  cudaGraph_t handle() const noexcept { return graph_.get(); }

 private:
  std::string describe_node(cudaGraphNode_t node) const;

  GraphHandle graph_;
  GraphNodes nodes_;
  DeviceState& device_;  // outlives this: the public Graph holds both
};

/// Calls from several threads at once are the caller's to keep apart, as CUDA's are.
class CudaExecutable final : public ExecutableGraph {
 public:
  explicit CudaExecutable(cudaGraphExec_t executable, DeviceState& device)
      : executable_(executable), device_(device) {}
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
  // A launch runs after the one before, also on another stream: the last one is enough to wait for.
  // A stream that is gone was drained.
  std::weak_ptr<StreamState> last_stream_;
};

}  // namespace reprise::cuda
