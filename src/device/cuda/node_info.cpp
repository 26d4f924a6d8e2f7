// SPDX-License-Identifier: Apache-2.0
// Reads a recorded graph back from CUDA, for diagnostics and the structural signature.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <unordered_map>

#include <cxxabi.h>
#include <fmt/format.h>

#include "device/checks.h"
#include "device/cuda/driver.h"
#include "device/cuda/graph.h"
#include "device/cuda/status.h"

namespace reprise::cuda {
namespace {

constexpr std::string_view kCall = "capture";

/// 64-bit FNV-1a over words.
class WordHash {
 public:
  void add(std::uint64_t word) noexcept {
    for (int byte = 0; byte < 8; ++byte) {
      value_ ^= (word >> (8 * byte)) & 0xff;
      value_ *= 0x100000001b3ULL;
    }
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

NodeKind kind_of(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel:
      return NodeKind::kernel;
    case cudaGraphNodeTypeMemcpy:
      return NodeKind::copy;
    case cudaGraphNodeTypeMemset:
      return NodeKind::fill;
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
      return NodeKind::event;
    case cudaGraphNodeTypeGraph:
      return NodeKind::child;
    case cudaGraphNodeTypeConditional:
      return NodeKind::conditional;
    default:
      return NodeKind::other;
  }
}

/// "void ns::kernel<4>(float*)" becomes "ns::kernel<4>"; what is not a C++ name stays.
std::string readable(const char* symbol) {
  int status = 0;
  char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  if (status != 0 || text == nullptr) return symbol;
  std::string name = text;
  std::free(text);
  if (name.ends_with(')')) {
    std::size_t open = name.size();
    for (int depth = 0; open > 0;) {
      --open;
      if (name[open] == ')') ++depth;
      if (name[open] == '(' && --depth == 0) break;
    }
    name.resize(open);
  }
  constexpr std::string_view kNothing = "void ";  // templates are spelt with what they return
  if (name.starts_with(kNothing)) name.erase(0, kNothing.size());
  return name;
}

std::string function_name(const CUDA_KERNEL_NODE_PARAMS& params) {
  const DriverCalls& driver = DriverCalls::get();
  const char* symbol = nullptr;
  if (params.func != nullptr) {
    if (driver.func_get_name != nullptr) driver.func_get_name(&symbol, params.func);
  } else if (driver.kernel_get_name != nullptr) {
    driver.kernel_get_name(&symbol, params.kern);
  }
  return symbol == nullptr ? std::string() : readable(symbol);
}

std::array<std::uint32_t, 3> clusters(const cudaLaunchAttributeValue& value) {
  const auto side = [](unsigned blocks) { return std::max(blocks, 1U); };  // 0: no clusters
  return {side(value.clusterDim.x), side(value.clusterDim.y), side(value.clusterDim.z)};
}

/// What is compiled into the kernel: for people only, so an answer that fails is left out.
void read_compiled(const CUDA_KERNEL_NODE_PARAMS& params, StreamState& stream,
                   LaunchGeometry& launch) {
  const DriverCalls& driver = DriverCalls::get();
  const auto read = [&](CUfunction_attribute attribute) {
    int value = 0;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    if (params.func != nullptr) {
      if (driver.func_get_attribute != nullptr) {
        result = driver.func_get_attribute(&value, attribute, params.func);
      }
    } else if (driver.kernel_get_attribute != nullptr) {
      result = driver.kernel_get_attribute(&value, attribute, params.kern,
                                           stream.owner->properties.ordinal);
    }
    return result == CUDA_SUCCESS ? value : 0;
  };
  launch.registers = read(CU_FUNC_ATTRIBUTE_NUM_REGS);
  launch.static_shared_bytes =
      static_cast<std::size_t>(std::max(read(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0));
}

/// Attributes that change what an executable must look like and that CUDA can read back.
void add_launch_attributes(cudaGraphNode_t node, LaunchGeometry& launch, WordHash& hash) {
  const auto read = [node](cudaLaunchAttributeID id) {
    cudaLaunchAttributeValue value{};
    if (cudaGraphKernelNodeGetAttribute(node, id, &value) != cudaSuccess) {
      cudaGetLastError();
      value = {};
    }
    return value;
  };
  const auto word = [](int number) { return static_cast<std::uint64_t>(number); };
  hash.add(word(read(cudaLaunchAttributeCooperative).cooperative));
  hash.add(word(read(cudaLaunchAttributePriority).priority));
  const auto cluster = read(cudaLaunchAttributeClusterDimension);
  for (const unsigned side : {cluster.clusterDim.x, cluster.clusterDim.y, cluster.clusterDim.z}) {
    hash.add(side);
  }
  launch.cluster = clusters(cluster);
  hash.add(word(read(cudaLaunchAttributeClusterSchedulingPolicyPreference)
                    .clusterSchedulingPolicyPreference));
  hash.add(word(read(cudaLaunchAttributeMemSyncDomain).memSyncDomain));
}

void read_kernel(cudaGraphNode_t node, NodeInfo& info, StreamState& stream) {
  const DriverCalls& driver = DriverCalls::get();
  if (driver.graph_kernel_node_get_params == nullptr) {
    throw DeviceError(
        fmt::format("device {}: the driver has no cuGraphKernelNodeGetParams; "
                    "install a driver for CUDA 12.4 or newer",
                    stream.owner->label()));
  }
  CUDA_KERNEL_NODE_PARAMS params{};
  // The runtime's own call fails for kernels that it did not register, such as a library's.
  check(to_runtime(driver.graph_kernel_node_get_params(node, &params)), stream, kCall);
  info.function = function_name(params);
  WordHash hash;
  for (const unsigned number : {params.gridDimX, params.gridDimY, params.gridDimZ, params.blockDimX,
                                params.blockDimY, params.blockDimZ, params.sharedMemBytes}) {
    hash.add(number);
  }
  LaunchGeometry& launch = info.launch.emplace();
  launch.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  launch.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  launch.dynamic_shared_bytes = params.sharedMemBytes;
  read_compiled(params, stream, launch);
  add_launch_attributes(node, launch, hash);
  info.attributes = hash.value();
}

/// From the first byte that is written to the last: what lies between the rows counts as well.
KeptRange written_range(const void* first, std::size_t width, std::size_t height,
                        std::size_t pitch) {
  const std::size_t rows = std::max<std::size_t>(height, 1);
  return {.data = static_cast<const std::byte*>(first),
          .bytes = (rows - 1) * pitch + width,
          .label = {}};
}

void read_copy(cudaGraphNode_t node, NodeInfo& info, StreamState& stream) {
  cudaMemcpy3DParms params{};
  check(cudaGraphMemcpyNodeGetParams(node, &params), stream, kCall);
  const std::size_t height = std::max<std::size_t>(params.extent.height, 1);
  const std::size_t depth = std::max<std::size_t>(params.extent.depth, 1);
  info.bytes = params.extent.width * height * depth;
  if (params.dstPtr.ptr == nullptr) return;  // an array, which no kernel reads by address
  const std::size_t pitch = params.dstPtr.pitch;
  const std::size_t slice = pitch * std::max<std::size_t>(params.dstPtr.ysize, 1);
  const auto* first = static_cast<const std::byte*>(params.dstPtr.ptr) + params.dstPos.x +
                      params.dstPos.y * pitch + params.dstPos.z * slice;
  KeptRange range = written_range(first, params.extent.width, height, pitch);
  range.bytes += (depth - 1) * slice;
  info.declared.writes.push_back(std::move(range));
}

void read_fill(cudaGraphNode_t node, NodeInfo& info, StreamState& stream) {
  cudaMemsetParams params{};
  check(cudaGraphMemsetNodeGetParams(node, &params), stream, kCall);
  const std::size_t width = params.width * params.elementSize;
  info.bytes = width * std::max<std::size_t>(params.height, 1);
  info.declared.writes.push_back(written_range(params.dst, width, params.height, params.pitch));
}

NodeInfo read_node(cudaGraphNode_t node, const NodeLabels& labels, StreamState& stream) {
  cudaGraphNodeType type{};
  check(cudaGraphNodeGetType(node, &type), stream, kCall);
  NodeInfo info;
  info.kind = kind_of(type);
  info.label = labels.of(node);
  if (type == cudaGraphNodeTypeMemAlloc || type == cudaGraphNodeTypeMemFree) {
    throw CaptureError(
        CaptureFault::refused,
        fmt::format("capture on {}: the recording {} memory by a node ('{}'); allocate before "
                    "recording, or from the recording's memory pool",
                    checks::describe(stream),
                    type == cudaGraphNodeTypeMemAlloc ? "allocates" : "frees", info.label));
  }
  if (info.kind == NodeKind::kernel) {
    read_kernel(node, info, stream);
    info.declared = labels.declared(node);
  }
  if (info.kind == NodeKind::copy) read_copy(node, info, stream);
  if (info.kind == NodeKind::fill) read_fill(node, info, stream);
  if (const ConditionalNode* const known = labels.conditional(node)) {
    info.function = known->function;
    info.bodies = known->bodies;
  }
  return info;
}

/// The graph's nodes, each after those it depends on; otherwise in CUDA's order, which is that of
/// recording.
class Ordered {
 public:
  Ordered(cudaGraph_t graph, StreamState& stream) {
    std::size_t count = 0;
    check(cudaGraphGetNodes(graph, nullptr, &count), stream, kCall);
    std::vector<cudaGraphNode_t> all(count);
    if (count > 0) check(cudaGraphGetNodes(graph, all.data(), &count), stream, kCall);
    for (const cudaGraphNode_t node : all) {
      NodeDependencies before;
      check(node_dependencies(node, before), stream, kCall);
      before_.emplace(node, std::move(before));
    }
    for (const cudaGraphNode_t node : all) place(node);
  }
  const std::vector<cudaGraphNode_t>& nodes() const { return nodes_; }

  void fill_edges(cudaGraphNode_t node, NodeInfo& info) const {
    const NodeDependencies& before = before_.at(node);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> edges;
    for (std::size_t i = 0; i < before.nodes.size(); ++i) {
      const cudaGraphEdgeData& edge = before.edges[i];
      edges.emplace_back(index_.at(before.nodes[i]), std::uint64_t{edge.from_port} << 16 |
                                                         std::uint64_t{edge.to_port} << 8 |
                                                         std::uint64_t{edge.type});
    }
    std::sort(edges.begin(), edges.end());
    WordHash hash;
    hash.add(info.attributes);
    for (const auto& [index, edge] : edges) {
      info.dependencies.push_back(index);
      if ((edge & 0xff) == cudaGraphDependencyTypeProgrammatic) info.programmatic.push_back(index);
      hash.add(edge);
    }
    info.attributes = hash.value();
  }

 private:
  void place(cudaGraphNode_t node) {
    std::vector<cudaGraphNode_t> open{node};
    while (!open.empty()) {
      const cudaGraphNode_t next = open.back();
      if (index_.contains(next)) {
        open.pop_back();
        continue;
      }
      const std::size_t depth = open.size();
      for (const cudaGraphNode_t earlier : before_.at(next).nodes) {
        if (!index_.contains(earlier)) open.push_back(earlier);
      }
      if (open.size() > depth) continue;
      open.pop_back();
      index_.emplace(next, static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back(next);
    }
  }

  std::unordered_map<cudaGraphNode_t, NodeDependencies> before_;
  std::unordered_map<cudaGraphNode_t, std::uint32_t> index_;
  std::vector<cudaGraphNode_t> nodes_;
};

}  // namespace

GraphNodes read_nodes(cudaGraph_t graph, const NodeLabels& labels, StreamState& stream) {
  const Ordered ordered(graph, stream);
  GraphNodes result;
  result.handles = ordered.nodes();
  for (const cudaGraphNode_t node : ordered.nodes()) {
    NodeInfo info = read_node(node, labels, stream);
    if (const ConditionalNode* const known = labels.conditional(node)) {
      result.inner.insert(result.inner.end(), known->inner.begin(), known->inner.end());
    }
    ordered.fill_edges(node, info);
    result.infos.push_back(std::move(info));
  }
  return result;
}

}  // namespace reprise::cuda
