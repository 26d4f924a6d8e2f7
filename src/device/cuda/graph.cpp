// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph.h"

#include <algorithm>

#include <fmt/format.h>

#include "device/cuda/driver.h"
#include "device/cuda/status.h"
#include "device/cuda/stream.h"

namespace reprise::cuda {
namespace {

std::string_view to_text(cudaGraphInstantiateResult result) {
  switch (result) {
    case cudaGraphInstantiateSuccess:
      return "success";
    case cudaGraphInstantiateInvalidStructure:
      return "invalid structure";
    case cudaGraphInstantiateNodeOperationNotSupported:
      return "an operation that is not supported";
    case cudaGraphInstantiateMultipleDevicesNotSupported:
      return "nodes of several devices";
    case cudaGraphInstantiateConditionalHandleUnused:
      return "a conditional handle without a node";
    default:
      return "an error of the driver";
  }
}

}  // namespace

GraphHandle::~GraphHandle() {
  if (graph_ == nullptr) return;
  const RelaxedGuard relaxed;
  if (cudaGraphDestroy(graph_) != cudaSuccess) cudaGetLastError();
}

std::string describe_node(std::size_t index, const NodeInfo& info) {
  return fmt::format("node {} ({} '{}'{}{})", index, to_string(info.kind), info.label,
                     info.function.empty() ? "" : ", ", info.function);
}

std::string CudaGraph::describe_node(cudaGraphNode_t node) const {
  if (node == nullptr) return "no node in particular";
  const auto found = std::find(nodes_.handles.begin(), nodes_.handles.end(), node);
  if (found != nodes_.handles.end()) {
    const auto index = static_cast<std::size_t>(found - nodes_.handles.begin());
    return cuda::describe_node(index, nodes_.infos[index]);
  }
  for (const auto& [handle, text] : nodes_.inner) {
    if (handle == node) return text;
  }
  return "a node that it did not record";
}

std::shared_ptr<ExecutableGraph> CudaGraph::instantiate() const {
  check(cudaSetDevice(device_.properties.ordinal), device_, "Graph::instantiate");
  cudaGraphInstantiateParams params{};
  cudaGraphExec_t made = nullptr;
  const cudaError_t status = cudaGraphInstantiateWithParams(&made, graph_.get(), &params);
  if (status == cudaSuccess && params.result_out == cudaGraphInstantiateSuccess) {
    return std::make_shared<CudaExecutable>(made, device_, memory_);
  }
  if (is_sticky(status)) fail(status, device_, "Graph::instantiate");
  cudaGetLastError();
  const std::string text =
      fmt::format("Graph::instantiate on device {}: {} at {}: {}", device_.label(),
                  to_text(params.result_out), describe_node(params.errNode_out), describe(status));
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(text, static_cast<int>(status));
  throw DeviceError(text, static_cast<int>(status));
}

CudaExecutable::~CudaExecutable() {
  const RelaxedGuard relaxed;
  if (cudaGraphExecDestroy(executable_) != cudaSuccess) cudaGetLastError();
}

void CudaExecutable::upload(StreamState& stream) {
  check(cudaSetDevice(device_.properties.ordinal), stream, "GraphExec::upload");
  check(cudaGraphUpload(executable_, static_cast<CudaStream&>(stream).handle()), stream,
        "GraphExec::upload");
  last_stream_ = stream.weak_from_this();
}

void CudaExecutable::launch(StreamState& stream) {
  check(cudaGraphLaunch(executable_, static_cast<CudaStream&>(stream).handle()), stream,
        "GraphExec::launch");
  last_stream_ = stream.weak_from_this();
}

UpdateOutcome CudaExecutable::update(const RecordedGraph& graph) {
  const auto& other = static_cast<const CudaGraph&>(graph);
  check(cudaSetDevice(device_.properties.ordinal), device_, "GraphExec::update");
  cudaGraphExecUpdateResultInfo info{};
  const cudaError_t status = cudaGraphExecUpdate(executable_, other.handle(), &info);
  if (status == cudaSuccess) {
    memory_ = other.memory();
    return UpdateOutcome::updated;
  }
  if (status != cudaErrorGraphExecUpdateFailure) fail(status, device_, "GraphExec::update");
  cudaGetLastError();  // the failure stays behind as the thread's last error
  return info.result == cudaGraphExecUpdateErrorTopologyChanged ||
                 info.result == cudaGraphExecUpdateErrorNodeTypeChanged
             ? UpdateOutcome::topology_differs
             : UpdateOutcome::refused;
}

void CudaExecutable::wait_idle() noexcept {
  if (const auto stream = last_stream_.lock()) static_cast<CudaStream&>(*stream).wait_quietly();
}

}  // namespace reprise::cuda
