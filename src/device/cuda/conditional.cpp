// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/conditional.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "device/checks.h"
#include "device/cuda/driver.h"
#include "device/cuda/graph.h"
#include "device/cuda/status.h"

namespace reprise::cuda {
namespace {

std::string call_of(const ConditionalSpec& spec) {
  return spec.kind == ConditionalSpec::Kind::loop ? "while_loop" : "if_else";
}

/// Throws DeviceError where the driver is older than conditional nodes of this form.
void require_driver(DeviceState& device, const ConditionalSpec& spec) {
  const bool both = spec.bodies > 1;
  const int least = both ? 12080 : 12040;
  int driver = 0;
  check(cudaDriverGetVersion(&driver), device, call_of(spec));
  if (driver >= least) return;
  throw DeviceError(
      fmt::format("{} '{}' on device {}: the driver knows CUDA {}.{}, and {} need {}.{}; install a "
                  "newer driver{}",
                  call_of(spec), spec.label, device.label(), driver / 1000, driver % 1000 / 10,
                  both ? "branches with otherwise" : "loops and branches", least / 1000,
                  least % 1000 / 10, both ? ", or give two if_else() opposite conditions" : ""));
}

/// What CUDA does not take in a body, by the names that its users know; null for what it takes.
const char* refused_kind(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel:
    case cudaGraphNodeTypeMemcpy:
    case cudaGraphNodeTypeMemset:
    case cudaGraphNodeTypeGraph:
    case cudaGraphNodeTypeEmpty:
    case cudaGraphNodeTypeConditional:
      return nullptr;
    case cudaGraphNodeTypeHost:
      return "host callback";
    case cudaGraphNodeTypeWaitEvent:
      return "wait for an external event";
    case cudaGraphNodeTypeEventRecord:
      return "record of an external event";
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
      return "external semaphore";
    case cudaGraphNodeTypeMemAlloc:
      return "memory allocation";
    case cudaGraphNodeTypeMemFree:
      return "memory release";
    default:
      return "node of a kind that is not known to be allowed";
  }
}

/// True where the device cannot reach what a copy of a body touches: memory of the process that is
/// not pinned, or an array.
bool copies_out_of_reach(cudaGraphNode_t node, StreamState& stream, const std::string& call) {
  const RelaxedGuard relaxed;
  cudaMemcpy3DParms params{};
  check(cudaGraphMemcpyNodeGetParams(node, &params), stream, call);
  if (params.srcArray != nullptr || params.dstArray != nullptr) return true;
  for (const void* const data : {params.srcPtr.ptr, params.dstPtr.ptr}) {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, data), stream, call);
    if (attributes.type == cudaMemoryTypeUnregistered) return true;
  }
  return false;
}

/// What of a body is looked at: kinds while it is captured still, so that the driver has not yet
/// complained; what copies touch when it has ended.
enum class Look : std::uint8_t { kinds, copies };

/// Why `node` may not stand in a body; null where it may.
const char* refused_node(cudaGraphNode_t node, cudaGraphNodeType type, Look look,
                         StreamState& stream, const std::string& call) {
  if (look == Look::kinds) return refused_kind(type);
  const bool refused = type == cudaGraphNodeTypeMemcpy && copies_out_of_reach(node, stream, call);
  return refused ? "copy of pageable memory or of an array" : nullptr;
}

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph, StreamState& stream,
                                      const std::string& call) {
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count), stream, call);
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) check(cudaGraphGetNodes(graph, nodes.data(), &count), stream, call);
  return nodes;
}

/// Throws CaptureError for a node of `graph`, or of a child graph in it, that may not stand in a
/// body. `within`: what messages say of a child graph.
void require_allowed(cudaGraph_t graph, Look look, const NodeLabels& labels,
                     const ConditionalSpec& spec, StreamState& stream,
                     const std::string& within = {}) {
  const std::string call = call_of(spec);
  const std::vector<cudaGraphNode_t> nodes = nodes_of(graph, stream, call);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string& label = labels.of(nodes[i]);
    const std::string named = label.empty() ? "" : fmt::format(" ('{}')", label);
    const std::string place = fmt::format("node {}{}{}", i, named, within);
    cudaGraphNodeType type{};
    check(cudaGraphNodeGetType(nodes[i], &type), stream, call);
    if (const char* const kind = refused_node(nodes[i], type, look, stream, call)) {
      throw CaptureError(
          CaptureFault::refused,
          fmt::format("{} '{}' on {}: {} of a body is a {}, which CUDA cannot run there; bodies "
                      "take kernels, copies, fills, child graphs, loops and branches: put it "
                      "before or after",
                      call, spec.label, checks::describe(stream), place, kind));
    }
    if (type != cudaGraphNodeTypeGraph) continue;
    cudaGraph_t child = nullptr;
    check(cudaGraphChildGraphNodeGetGraph(nodes[i], &child), stream, call);
    require_allowed(child, look, labels, spec, stream,
                    fmt::format(" in the child graph at {}", place));
  }
}

}  // namespace

BodyStream::BodyStream(DeviceState& device) {
  const RelaxedGuard relaxed;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), device, "while_loop");
}

BodyStream::~BodyStream() {
  const RelaxedGuard relaxed;
  if (cudaStreamDestroy(stream_) != cudaSuccess) cudaGetLastError();
}

std::unique_ptr<ConditionalCapture> CudaStream::begin_conditional(const ConditionalSpec& spec) {
  check(cudaSetDevice(owner->properties.ordinal), *this, call_of(spec));
  require_driver(*owner, spec);
  look_for_new_nodes();  // raw launches so far come before the node
  return std::make_unique<CudaConditional>(*this, spec);
}

CudaStream::Target CudaStream::exchange_target(Target next) noexcept {
  const std::lock_guard lock(mutex_);
  return {.handle = std::atomic_ref(stream_).exchange(next.handle),
          .recording = std::exchange(captured_in_, std::move(next.recording))};
}

CudaConditional::CudaConditional(CudaStream& stream, const ConditionalSpec& spec)
    : stream_(stream), spec_(spec), body_stream_(*stream.owner) {
  const std::string call = call_of(spec);
  recorded_.function = function_of(spec.kind);
  CaptureTail now;
  check(capture_tail(stream.handle(), now), stream, call);
  if (now.status != cudaStreamCaptureStatusActive) {
    fail(cudaErrorStreamCaptureInvalidated, stream, call);
  }
  // The test before the node sets it in every run; the default is what it has if that never ran.
  check(cudaGraphConditionalHandleCreate(&handle_, now.graph, 0, cudaGraphCondAssignDefault),
        stream, call);
  if (spec.kind == ConditionalSpec::Kind::loop) {
    count_ = static_cast<std::uint32_t*>(stream.keep_memory(sizeof(std::uint32_t)));
  }
  check(launch_first_test(stream.handle(), handle_, spec.condition, count_), stream, call);
  stream.name_control_nodes(spec.label + " / test");
  add_node(now.graph, handle_);
  stream.name_control_nodes(spec.label);
}

void CudaConditional::add_node(cudaGraph_t graph, cudaGraphConditionalHandle handle) {
  const std::string call = call_of(spec_);
  CaptureTail now;
  check(capture_tail(stream_.handle(), now), stream_, call);
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type =
      spec_.kind == ConditionalSpec::Kind::loop ? cudaGraphCondTypeWhile : cudaGraphCondTypeIf;
  params.conditional.size = static_cast<unsigned>(spec_.bodies);
  check(add_graph_node(graph, now.tail, params, node_), stream_, call);
  graphs_.assign(params.conditional.phGraph_out, params.conditional.phGraph_out + spec_.bodies);
  check(set_capture_tail(stream_.handle(), node_), stream_, call);
}

void CudaConditional::begin_body(std::shared_ptr<LiveRecording> body) {
  const cudaGraph_t graph = graphs_.at(recorded_.bodies.size());
  check(cudaStreamBeginCaptureToGraph(body_stream_.get(), graph, nullptr, nullptr, 0,
                                      cudaStreamCaptureModeThreadLocal),
        stream_, call_of(spec_));
  body->capture_id = capture_id(body_stream_.get());
  outside_ = stream_.exchange_target({.handle = body_stream_.get(), .recording = std::move(body)});
}

void CudaConditional::end_body() {
  const std::string call = call_of(spec_);
  const std::shared_ptr<LiveRecording> body = stream_.recording();
  const cudaGraph_t graph = graphs_.at(recorded_.bodies.size());
  try {
    stream_.look_for_new_nodes();  // finds a body spoilt, before its graph is looked at
    if (spec_.kind == ConditionalSpec::Kind::loop) {
      check(launch_next_test(stream_.handle(), handle_, spec_.condition, count_,
                             spec_.max_iterations),
            stream_, call);
      stream_.name_control_nodes(spec_.label + " / test");
    }
    require_allowed(graph, Look::kinds, stream_.shared_labels(), spec_, stream_);
  } catch (...) {
    discard_body();
    throw;
  }
  stream_.exchange_target(std::move(outside_));
  cudaGraph_t ended = nullptr;  // what comes back is the node's
  const cudaError_t status = cudaStreamEndCapture(body_stream_.get(), &ended);
  if (status != cudaSuccess) {
    stream_.shared_labels().note_lost_body();
    fail_end_of_capture(status, stream_, body.get());
  }
  require_untouched_outside();
  require_allowed(graph, Look::copies, stream_.shared_labels(), spec_, stream_);
  keep_nodes(read_nodes(graph, stream_.shared_labels(), stream_));
}

void CudaConditional::keep_nodes(GraphNodes nodes) {
  for (std::size_t i = 0; i < nodes.handles.size(); ++i) {
    recorded_.inner.emplace_back(
        nodes.handles[i],
        fmt::format("{} of a body of '{}'", describe_node(i, nodes.infos[i]), spec_.label));
  }
  std::move(nodes.inner.begin(), nodes.inner.end(), std::back_inserter(recorded_.inner));
  recorded_.bodies.push_back(std::move(nodes.infos));
}

void CudaConditional::discard_body() noexcept {
  stream_.exchange_target(std::move(outside_));
  // What comes back belongs to the node.
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(body_stream_.get(), &graph) != cudaSuccess) {
    stream_.shared_labels().note_lost_body();
  }
  cudaGetLastError();
}

void CudaConditional::commit() {
  stream_.shared_labels().add_conditional(node_, std::move(recorded_));
}

void CudaConditional::require_untouched_outside() {
  CaptureTail now;
  check(capture_tail(stream_.handle(), now), stream_, call_of(spec_));
  if (now.status != cudaStreamCaptureStatusActive) {
    fail(cudaErrorStreamCaptureInvalidated, stream_, call_of(spec_));
  }
  if (now.tail.size() == 1 && now.tail.front() == node_) return;
  throw CaptureError(
      CaptureFault::refused,
      fmt::format("{} '{}' on {}: a body put work on the handle that the stream has outside of it; "
                  "ask for cuda::native(stream) inside the body",
                  call_of(spec_), spec_.label, checks::describe(stream_)));
}

}  // namespace reprise::cuda
