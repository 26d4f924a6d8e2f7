// SPDX-License-Identifier: Apache-2.0
// The one place that knows which CUDA this is: calls whose form differs between toolkits, and the
// driver's own entry points, which are asked for at run time. Nothing links libcuda: the program
// starts on a machine without a driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace reprise::cuda {

/// While it lives, the calling thread's recording does not forbid it calls that CUDA calls
/// potentially unsafe. Only round calls that are known to leave a recording alone: making and
/// destroying handles, freeing memory, waiting for a stream that does not record.
class RelaxedGuard {
 public:
  RelaxedGuard() noexcept { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedGuard() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedGuard(const RelaxedGuard&) = delete;
  RelaxedGuard& operator=(const RelaxedGuard&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// What a stream's capture has come to. `tail` are the nodes that its next work will come after.
struct CaptureTail {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  std::vector<cudaGraphNode_t> tail;
};
cudaError_t capture_tail(cudaStream_t stream, CaptureTail& out);
/// The number of the capture that a stream takes part in; 0 for one that does not, or is gone.
std::uint64_t capture_id(cudaStream_t stream) noexcept;

/// The nodes that `node` comes after, with the kind of each edge.
struct NodeDependencies {
  std::vector<cudaGraphNode_t> nodes;
  std::vector<cudaGraphEdgeData> edges;
};
cudaError_t node_dependencies(cudaGraphNode_t node, NodeDependencies& out);
/// All edges of a graph: to[i] comes after from[i].
struct GraphEdges {
  std::vector<cudaGraphNode_t> from;
  std::vector<cudaGraphNode_t> to;
  std::vector<cudaGraphEdgeData> data;
};
cudaError_t graph_edges(cudaGraph_t graph, GraphEdges& out);
/// Takes `node` out from behind `before`, which is what node_dependencies() answers.
cudaError_t remove_dependencies(cudaGraph_t graph, cudaGraphNode_t node,
                                const NodeDependencies& before);
/// Full edges.
cudaError_t add_dependencies(cudaGraph_t graph, cudaGraphNode_t node,
                             const std::vector<cudaGraphNode_t>& before);

/// Adds a node behind `before` by full edges. Fills what `params` hands back.
cudaError_t add_graph_node(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& before,
                           cudaGraphNodeParams& params, cudaGraphNode_t& node);
/// Lets the stream's next captured work come after `node` only.
cudaError_t set_capture_tail(cudaStream_t stream, cudaGraphNode_t node);

/// The driver's answers have the runtime's numbers.
inline cudaError_t to_runtime(CUresult result) noexcept { return static_cast<cudaError_t>(result); }

/// Entry points of the driver, by name and version. A null member: this driver has none.
struct DriverCalls {
  decltype(&cuGraphKernelNodeGetParams) graph_kernel_node_get_params = nullptr;
  decltype(&cuFuncGetName) func_get_name = nullptr;
  decltype(&cuKernelGetName) kernel_get_name = nullptr;
  decltype(&cuFuncGetAttribute) func_get_attribute = nullptr;
  decltype(&cuKernelGetAttribute) kernel_get_attribute = nullptr;

  // Virtual-memory management: a driver has all of them or none.
  decltype(&cuDeviceGet) device_get = nullptr;
  decltype(&cuDeviceGetAttribute) device_get_attribute = nullptr;
  decltype(&cuMemGetAllocationGranularity) mem_get_allocation_granularity = nullptr;
  decltype(&cuMemAddressReserve) mem_address_reserve = nullptr;
  decltype(&cuMemAddressFree) mem_address_free = nullptr;
  decltype(&cuMemCreate) mem_create = nullptr;
  decltype(&cuMemRelease) mem_release = nullptr;
  decltype(&cuMemMap) mem_map = nullptr;
  decltype(&cuMemUnmap) mem_unmap = nullptr;
  decltype(&cuMemSetAccess) mem_set_access = nullptr;

  bool has_virtual_memory() const noexcept;

  static const DriverCalls& get();
};

/// "580.159.04": the kernel module's version, or "CUDA 13.0" where the system does not tell it.
std::string driver_version();

}  // namespace reprise::cuda
