// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/driver.h"

#include <cctype>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace reprise::cuda {
namespace {

cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status, std::uint64_t* id,
                         cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                         const cudaGraphEdgeData** edges, std::size_t* count) {
  unsigned long long number = 0;
#if CUDART_VERSION >= 13000
  const cudaError_t answer =
      cudaStreamGetCaptureInfo(stream, status, &number, graph, nodes, edges, count);
#else
  const cudaError_t answer =
      cudaStreamGetCaptureInfo_v3(stream, status, &number, graph, nodes, edges, count);
#endif
  if (id != nullptr) *id = number;
  return answer;
}

cudaError_t get_dependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                             std::size_t* count) {
#if CUDART_VERSION >= 13000
  return cudaGraphNodeGetDependencies(node, nodes, edges, count);
#else
  return cudaGraphNodeGetDependencies_v2(node, nodes, edges, count);
#endif
}

cudaError_t get_edges(cudaGraph_t graph, GraphEdges* edges, std::size_t* count) {
  cudaGraphNode_t* const from = edges == nullptr ? nullptr : edges->from.data();
  cudaGraphNode_t* const to = edges == nullptr ? nullptr : edges->to.data();
  cudaGraphEdgeData* const data = edges == nullptr ? nullptr : edges->data.data();
#if CUDART_VERSION >= 13000
  return cudaGraphGetEdges(graph, from, to, data, count);
#else
  return cudaGraphGetEdges_v2(graph, from, to, data, count);
#endif
}

/// `version` is the CUDA version whose form of the call this code was written against.
template <class Function>
void find_entry(const char* name, [[maybe_unused]] unsigned version, Function& out) {
  void* address = nullptr;
  auto answer = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &answer);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &answer);
#endif
  if (status != cudaSuccess) cudaGetLastError();
  const bool found = status == cudaSuccess && answer == cudaDriverEntryPointSuccess;
  out = found ? reinterpret_cast<Function>(address) : nullptr;
}

}  // namespace

cudaError_t capture_tail(cudaStream_t stream, CaptureTail& out) {
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;  // asked for: a programmatic edge is an error otherwise
  std::size_t count = 0;
  out.status = cudaStreamCaptureStatusNone;
  out.graph = nullptr;
  out.tail.clear();
  const cudaError_t status =
      capture_info(stream, &out.status, nullptr, &out.graph, &nodes, &edges, &count);
  // The array lives until the next call on the stream only.
  if (status == cudaSuccess && out.status == cudaStreamCaptureStatusActive && nodes != nullptr) {
    out.tail.assign(nodes, nodes + count);
  }
  return status;
}

std::uint64_t capture_id(cudaStream_t stream) noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  std::uint64_t id = 0;
  if (capture_info(stream, &status, &id, nullptr, nullptr, nullptr, nullptr) != cudaSuccess) {
    cudaGetLastError();  // a handle that is none: the caller's own call says so
    return 0;
  }
  return status == cudaStreamCaptureStatusNone ? 0 : id;
}

cudaError_t node_dependencies(cudaGraphNode_t node, NodeDependencies& out) {
  constexpr std::size_t kUsual = 4;  // room for those of nearly every node: one call then does
  std::size_t count = kUsual;
  out.nodes.assign(kUsual, nullptr);
  out.edges.assign(kUsual, {});
  cudaError_t status = get_dependencies(node, out.nodes.data(), out.edges.data(), &count);
  if (status == cudaSuccess && count >= kUsual) {  // there may be more
    status = get_dependencies(node, nullptr, nullptr, &count);
    if (status == cudaSuccess) {
      out.nodes.resize(count);
      out.edges.resize(count);
      status = get_dependencies(node, out.nodes.data(), out.edges.data(), &count);
    }
  }
  if (status != cudaSuccess) count = 0;
  out.nodes.resize(count);
  out.edges.resize(count);
  return status;
}

cudaError_t graph_edges(cudaGraph_t graph, GraphEdges& out) {
  std::size_t count = 0;
  out = {};
  const cudaError_t status = get_edges(graph, nullptr, &count);
  if (status != cudaSuccess || count == 0) return status;
  out.from.resize(count);
  out.to.resize(count);
  out.data.resize(count);
  return get_edges(graph, &out, &count);
}

cudaError_t add_graph_node(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& before,
                           cudaGraphNodeParams& params, cudaGraphNode_t& node) {
#if CUDART_VERSION >= 13000
  return cudaGraphAddNode(&node, graph, before.data(), nullptr, before.size(), &params);
#else
  return cudaGraphAddNode(&node, graph, before.data(), before.size(), &params);
#endif
}

cudaError_t set_capture_tail(cudaStream_t stream, cudaGraphNode_t node) {
#if CUDART_VERSION >= 13000
  return cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1,
                                             cudaStreamSetCaptureDependencies);
#else
  return cudaStreamUpdateCaptureDependencies(stream, &node, 1, cudaStreamSetCaptureDependencies);
#endif
}

cudaError_t remove_dependencies(cudaGraph_t graph, cudaGraphNode_t node,
                                const NodeDependencies& before) {
  const std::vector<cudaGraphNode_t> to(before.nodes.size(), node);
#if CUDART_VERSION >= 13000
  return cudaGraphRemoveDependencies(graph, before.nodes.data(), to.data(), before.edges.data(),
                                     to.size());
#else
  return cudaGraphRemoveDependencies_v2(graph, before.nodes.data(), to.data(), before.edges.data(),
                                        to.size());
#endif
}

cudaError_t add_dependencies(cudaGraph_t graph, cudaGraphNode_t node,
                             const std::vector<cudaGraphNode_t>& before) {
  const std::vector<cudaGraphNode_t> to(before.size(), node);
#if CUDART_VERSION >= 13000
  return cudaGraphAddDependencies(graph, before.data(), to.data(), nullptr, to.size());
#else
  return cudaGraphAddDependencies(graph, before.data(), to.data(), to.size());
#endif
}

const DriverCalls& DriverCalls::get() {
  static const DriverCalls calls = [] {
    DriverCalls found;
    find_entry("cuGraphKernelNodeGetParams", 12000, found.graph_kernel_node_get_params);
    find_entry("cuFuncGetName", 12030, found.func_get_name);
    find_entry("cuKernelGetName", 12030, found.kernel_get_name);
    find_entry("cuDeviceGet", 12000, found.device_get);
    find_entry("cuDeviceGetAttribute", 12000, found.device_get_attribute);
    find_entry("cuMemGetAllocationGranularity", 12000, found.mem_get_allocation_granularity);
    find_entry("cuMemAddressReserve", 12000, found.mem_address_reserve);
    find_entry("cuMemAddressFree", 12000, found.mem_address_free);
    find_entry("cuMemCreate", 12000, found.mem_create);
    find_entry("cuMemRelease", 12000, found.mem_release);
    find_entry("cuMemMap", 12000, found.mem_map);
    find_entry("cuMemUnmap", 12000, found.mem_unmap);
    find_entry("cuMemSetAccess", 12000, found.mem_set_access);
    find_entry("cuFuncGetAttribute", 2020, found.func_get_attribute);
    find_entry("cuKernelGetAttribute", 12000, found.kernel_get_attribute);
    return found;
  }();
  return calls;
}

bool DriverCalls::has_virtual_memory() const noexcept {
  return device_get != nullptr && device_get_attribute != nullptr &&
         mem_get_allocation_granularity != nullptr && mem_address_reserve != nullptr &&
         mem_address_free != nullptr && mem_create != nullptr && mem_release != nullptr &&
         mem_map != nullptr && mem_unmap != nullptr && mem_set_access != nullptr;
}

std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  if (file && std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    // The line also holds words such as "x86_64": the version is the one that begins with a digit.
    while (words >> word) {
      const bool number = std::isdigit(static_cast<unsigned char>(word.front())) != 0;
      if (number && word.find('.') != std::string::npos) return word;
    }
  }
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return "unknown";
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace reprise::cuda
