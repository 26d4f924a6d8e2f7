// SPDX-License-Identifier: Apache-2.0
// Reads a recorded graph back from CUDA, for diagnostics and the structural signature.
#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "device/checks.h"
#include "device/cuda/demangle.h"
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
  std::string name = demangled(symbol);
  if (name == symbol) return name;
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

/// What is compiled into a kernel. But for the name it is for people only, so an answer that fails
/// is left out.
struct Compiled {
  std::string name;
  int registers = 0;
  std::size_t static_shared_bytes = 0;
};

Compiled read_compiled(const CUDA_KERNEL_NODE_PARAMS& params, StreamState& stream) {
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
  return {.name = function_name(params),
          .registers = read(CU_FUNC_ATTRIBUTE_NUM_REGS),
          .static_shared_bytes =
              static_cast<std::size_t>(std::max(read(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0))};
}

/// Attributes that change what an executable must look like and that CUDA can read back.
struct LaunchAttributes {
  std::array<std::uint64_t, 7> words = {};
  std::array<std::uint32_t, 3> cluster = {};
};

LaunchAttributes read_attributes(cudaGraphNode_t node) {
  const auto read = [node](cudaLaunchAttributeID id) {
    cudaLaunchAttributeValue value{};
    if (cudaGraphKernelNodeGetAttribute(node, id, &value) != cudaSuccess) {
      cudaGetLastError();
      value = {};
    }
    return value;
  };
  const auto word = [](int number) { return static_cast<std::uint64_t>(number); };
  const auto cluster = read(cudaLaunchAttributeClusterDimension);
  return {.words = {word(read(cudaLaunchAttributeCooperative).cooperative),
                    word(read(cudaLaunchAttributePriority).priority), cluster.clusterDim.x,
                    cluster.clusterDim.y, cluster.clusterDim.z,
                    word(read(cudaLaunchAttributeClusterSchedulingPolicyPreference)
                             .clusterSchedulingPolicyPreference),
                    word(read(cudaLaunchAttributeMemSyncDomain).memSyncDomain)},
          .cluster = clusters(cluster)};
}

/// Reads kernels, and asks CUDA once for what many nodes have in common. Lives as long as one graph
/// is read, so that no function goes away meanwhile.
class KernelReader {
 public:
  explicit KernelReader(StreamState& stream) : stream_(stream) {}

  /// `launch`: what is known of it.
  void read(cudaGraphNode_t node, const KnownLaunch& launch, NodeInfo& info) {
    const auto like = likes_.find(launch.kernel);
    if (launch.kernel != nullptr && like != likes_.end()) {
      put(like->second, launch, info);
      return;
    }
    const CUDA_KERNEL_NODE_PARAMS params = read_params(node);
    const Like read{.compiled = &compiled(params), .attributes = read_attributes(node)};
    put(read,
        {.kernel = nullptr,
         .grid = {params.gridDimX, params.gridDimY, params.gridDimZ},
         .block = {params.blockDimX, params.blockDimY, params.blockDimZ},
         .dynamic_shared_bytes = params.sharedMemBytes},
        info);
    if (launch.kernel != nullptr) likes_.emplace(launch.kernel, read);
  }

 private:
  /// What all known launches of a kernel agree in.
  struct Like {
    const Compiled* compiled;
    LaunchAttributes attributes;
  };

  CUDA_KERNEL_NODE_PARAMS read_params(cudaGraphNode_t node) const {
    const DriverCalls& driver = DriverCalls::get();
    if (driver.graph_kernel_node_get_params == nullptr) {
      throw DeviceError(
          fmt::format("device {}: the driver has no cuGraphKernelNodeGetParams; "
                      "install a driver for CUDA 12.4 or newer",
                      stream_.owner->label()));
    }
    CUDA_KERNEL_NODE_PARAMS params{};
    // The runtime's own call fails for kernels that it did not register, such as a library's.
    check(to_runtime(driver.graph_kernel_node_get_params(node, &params)), stream_, kCall);
    return params;
  }

  const Compiled& compiled(const CUDA_KERNEL_NODE_PARAMS& params) {
    const void* const handle = params.func != nullptr ? static_cast<const void*>(params.func)
                                                      : static_cast<const void*>(params.kern);
    const auto found = compiled_.find(handle);
    if (found != compiled_.end()) return found->second;
    return compiled_.emplace(handle, read_compiled(params, stream_)).first->second;
  }

  static void put(const Like& like, const KnownLaunch& launch, NodeInfo& info) {
    info.function = like.compiled->name;
    WordHash hash;
    for (const std::uint32_t number : launch.grid) hash.add(number);
    for (const std::uint32_t number : launch.block) hash.add(number);
    hash.add(static_cast<std::uint32_t>(launch.dynamic_shared_bytes));
    for (const std::uint64_t word : like.attributes.words) hash.add(word);
    info.attributes = hash.value();
    info.launch = LaunchGeometry{.grid = launch.grid,
                                 .block = launch.block,
                                 .cluster = like.attributes.cluster,
                                 .dynamic_shared_bytes = launch.dynamic_shared_bytes,
                                 .static_shared_bytes = like.compiled->static_shared_bytes,
                                 .registers = like.compiled->registers};
  }

  StreamState& stream_;
  std::unordered_map<const void*, Compiled> compiled_;  // its elements stay where they are
  std::unordered_map<const void*, Like> likes_;
};

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

void refuse_allocation(cudaGraphNodeType type, const std::string& label, StreamState& stream) {
  if (type != cudaGraphNodeTypeMemAlloc && type != cudaGraphNodeTypeMemFree) return;
  throw CaptureError(
      CaptureFault::refused,
      fmt::format("capture on {}: the recording {} memory by a node ('{}'); allocate before "
                  "recording, or from the recording's memory pool",
                  checks::describe(stream),
                  type == cudaGraphNodeTypeMemAlloc ? "allocates" : "frees", label));
}

/// Moves what is known of the node out of `labels`.
NodeInfo read_node(cudaGraphNode_t node, NodeLabels& labels, KernelReader& kernels,
                   StreamState& stream) {
  NamedNode none;
  NamedNode* const found = labels.find(node);
  NamedNode& known = found == nullptr ? none : *found;
  cudaGraphNodeType type = cudaGraphNodeTypeKernel;
  if (known.launch.kernel == nullptr) check(cudaGraphNodeGetType(node, &type), stream, kCall);
  refuse_allocation(type, known.label, stream);
  NodeInfo info;
  info.kind = kind_of(type);
  info.label = std::move(known.label);
  if (info.kind == NodeKind::kernel) {
    kernels.read(node, known.launch, info);
    info.declared = std::move(known.declared);
  }
  if (info.kind == NodeKind::copy) read_copy(node, info, stream);
  if (info.kind == NodeKind::fill) read_fill(node, info, stream);
  if (const ConditionalNode* const conditional = labels.conditional(node)) {
    info.function = conditional->function;
    info.bodies = conditional->bodies;
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
    all_.resize(count);
    if (count > 0) check(cudaGraphGetNodes(graph, all_.data(), &count), stream, kCall);
    read_edges(graph, stream);
    index_.assign(count, kUnplaced);
    nodes_.reserve(count);
    for (std::uint32_t position = 0; position < count; ++position) place(position);
  }
  std::vector<cudaGraphNode_t> nodes() const {
    std::vector<cudaGraphNode_t> handles;
    handles.reserve(nodes_.size());
    for (const std::uint32_t position : nodes_) handles.push_back(all_[position]);
    return handles;
  }

  void fill_edges(std::size_t index, NodeInfo& info) const {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> edges;
    for (const Edge& edge : before(nodes_[index])) edges.emplace_back(index_[edge.from], edge.data);
    std::sort(edges.begin(), edges.end());
    WordHash hash;
    hash.add(info.attributes);
    for (const auto& [earlier, edge] : edges) {
      info.dependencies.push_back(earlier);
      if ((edge & 0xff) == cudaGraphDependencyTypeProgrammatic) {
        info.programmatic.push_back(earlier);
      }
      hash.add(edge);
    }
    info.attributes = hash.value();
  }

 private:
  static constexpr std::uint32_t kUnplaced = ~std::uint32_t{0};

  struct Edge {
    std::uint32_t to;  // positions in CUDA's order
    std::uint32_t from;
    std::uint64_t data;
  };

  void read_edges(cudaGraph_t graph, StreamState& stream) {
    GraphEdges read;
    check(graph_edges(graph, read), stream, kCall);
    std::unordered_map<cudaGraphNode_t, std::uint32_t> positions;
    positions.reserve(all_.size());
    for (const cudaGraphNode_t node : all_) {
      positions.emplace(node, static_cast<std::uint32_t>(positions.size()));
    }
    edges_.reserve(read.to.size());
    for (std::size_t i = 0; i < read.to.size(); ++i) {
      const cudaGraphEdgeData& data = read.data[i];
      edges_.push_back({.to = positions.at(read.to[i]),
                        .from = positions.at(read.from[i]),
                        .data = std::uint64_t{data.from_port} << 16 |
                                std::uint64_t{data.to_port} << 8 | std::uint64_t{data.type}});
    }
    // The latest first: place() takes the last one that it was given.
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
      return a.to != b.to ? a.to < b.to : a.from > b.from;
    });
    first_edge_.assign(all_.size() + 1, 0);
    for (const Edge& edge : edges_) ++first_edge_[edge.to + 1];
    for (std::size_t i = 1; i < first_edge_.size(); ++i) first_edge_[i] += first_edge_[i - 1];
  }

  /// The edges that lead to a node.
  std::span<const Edge> before(std::uint32_t position) const {
    return std::span(edges_).subspan(first_edge_[position],
                                     first_edge_[position + 1] - first_edge_[position]);
  }

  void place(std::uint32_t position) {
    std::vector<std::uint32_t> open{position};
    while (!open.empty()) {
      const std::uint32_t next = open.back();
      if (index_[next] != kUnplaced) {
        open.pop_back();
        continue;
      }
      const std::size_t depth = open.size();
      for (const Edge& edge : before(next)) {
        if (index_[edge.from] == kUnplaced) open.push_back(edge.from);
      }
      if (open.size() > depth) continue;
      open.pop_back();
      index_[next] = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(next);
    }
  }

  std::vector<cudaGraphNode_t> all_;  // in CUDA's order
  std::vector<Edge> edges_;           // by the node that they lead to
  std::vector<std::size_t> first_edge_;
  std::vector<std::uint32_t> index_;  // by position: the place in nodes_
  std::vector<std::uint32_t> nodes_;  // positions
};

}  // namespace

GraphNodes read_nodes(cudaGraph_t graph, NodeLabels& labels, StreamState& stream) {
  const Ordered ordered(graph, stream);
  KernelReader kernels(stream);
  GraphNodes result;
  result.handles = ordered.nodes();
  result.infos.reserve(result.handles.size());
  for (std::size_t i = 0; i < result.handles.size(); ++i) {
    const cudaGraphNode_t node = result.handles[i];
    NodeInfo info = read_node(node, labels, kernels, stream);
    if (const ConditionalNode* const known = labels.conditional(node)) {
      result.inner.insert(result.inner.end(), known->inner.begin(), known->inner.end());
    }
    ordered.fill_edges(i, info);
    result.infos.push_back(std::move(info));
  }
  return result;
}

}  // namespace reprise::cuda
