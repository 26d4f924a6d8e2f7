// SPDX-License-Identifier: Apache-2.0
// How a CUDA stream records.
#include <fmt/format.h>

#include "device/checks.h"
#include "device/cuda/driver.h"
#include "device/cuda/graph.h"
#include "device/cuda/status.h"
#include "device/cuda/stream.h"

namespace reprise::cuda {
namespace {

/// Ends the capture of `origin`, whatever has become of it: CUDA leaves the streams of a spoilt one
/// unusable until then. A graph that lost a body cannot be destroyed (NodeLabels::note_lost_body):
/// its few kilobytes stay with the process, once for each failed recording of that kind.
void end_and_forget(cudaStream_t origin, bool lost_body) noexcept {
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(origin, &graph) == cudaSuccess && graph != nullptr && !lost_body) {
    const RelaxedGuard relaxed;
    cudaGraphDestroy(graph);
  }
  cudaGetLastError();
}

}  // namespace

void CudaStream::begin_capture(std::shared_ptr<LiveRecording> recording) {
  check(cudaSetDevice(owner->properties.ordinal), *this, "capture");
  node_labels_.clear();
  const std::lock_guard lock(mutex_);
  check(cudaEventRecord(reached_.get(), stream_), *this, "capture");
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), *this, "capture");
  recording->capture_id = capture_id(stream_);
  captured_in_ = std::move(recording);
}

std::shared_ptr<RecordedGraph> CudaStream::end_capture() {
  const std::shared_ptr<LiveRecording> live = recording();
  try {
    if (live != nullptr) name_new_nodes(*live, {}, true);
  } catch (const CaptureError&) {
    // Found spoilt: ending it says so below, with the whole story.
  } catch (...) {
    discard_capture();
    throw;
  }
  cudaGraph_t graph = nullptr;
  cudaError_t status = cudaSuccess;
  {
    const std::lock_guard lock(mutex_);
    status = cudaStreamEndCapture(stream_, &graph);
    if (captured_in_ != nullptr) captured_in_->capture_id = 0;
    captured_in_ = nullptr;
  }
  if (status == cudaSuccess && graph == nullptr) status = cudaErrorStreamCaptureInvalidated;
  if (status != cudaSuccess) {
    node_labels_.clear();
    fail_end_of_capture(status, *this, live.get());
  }
  GraphHandle owned(graph);
  auto nodes = read_nodes(owned.get(), node_labels_, *this);
  auto memory = node_labels_.take_memory();
  node_labels_.clear();
  return std::make_shared<CudaGraph>(std::move(owned), std::move(nodes), *owner, std::move(memory));
}

void CudaStream::discard_capture() noexcept {
  const auto memory = node_labels_.take_memory();  // given back after the lock: that waits
  const std::lock_guard lock(mutex_);
  end_and_forget(stream_, node_labels_.lost_body());
  if (captured_in_ != nullptr) captured_in_->capture_id = 0;
  captured_in_ = nullptr;
  node_labels_.clear();
}

std::size_t CudaStream::captured_nodes() const {
  auto& self = const_cast<CudaStream&>(*this);  // messages want the stream
  CaptureTail now;
  check(capture_tail(stream_, now), self, "capture");
  // One that was spoilt from outside has no graph to count: its end tells the fault.
  if (now.status != cudaStreamCaptureStatusActive) return 1;
  std::size_t count = 0;
  check(cudaGraphGetNodes(now.graph, nullptr, &count), self, "capture");
  return count;
}

NodeLabels& CudaStream::shared_labels() const {
  return static_cast<CudaStream&>(*recording()->outermost().origin).node_labels_;
}

void CudaStream::name_new_nodes(LiveRecording& live, std::string_view leaf, bool count) {
  check(capture_tail(stream_, tail_), *this, "capture");
  if (tail_.status == cudaStreamCaptureStatusInvalidated) {
    fail(cudaErrorStreamCaptureInvalidated, *this, "capture");
  }
  NodeLabels& known = shared_labels();
  if (known.all_named(tail_.tail)) return known.name_none();
  const std::string label = full_label(leaf);
  std::size_t named = 0;
  check(known.name_unnamed(tail_.tail, label, named), *this, "capture");
  for (; count && named > 0; --named) live.note_work(*this, label);
}

void CudaStream::labels_will_change() {
  if (may_have_others_work()) look_for_new_nodes();
}

void CudaStream::look_for_new_nodes() {
  const auto live = recording();
  if (live != nullptr && live->thread == std::this_thread::get_id()) {
    waited_.store(false, std::memory_order_relaxed);
    name_new_nodes(*live, {}, true);
  }
}

void CudaStream::name_control_nodes(const std::string& label) {
  CaptureTail now;
  check(capture_tail(stream_, now), *this, "capture");
  std::size_t named = 0;
  check(shared_labels().name_unnamed(now.tail, full_label(label), named), *this, "capture");
}

void* CudaStream::keep_memory(std::size_t bytes) {
  const RelaxedGuard relaxed;  // known to leave a recording alone
  DeviceState* const source = owner;
  void* const data = source->allocate(bytes, MemorySpace::device);
  const auto release = [source, bytes](void* memory) {
    source->free(memory, bytes, MemorySpace::device);
  };
  shared_labels().keep(std::shared_ptr<void>(data, release));
  return data;
}

void CudaStream::before_raw_work() {
  check(cudaSetDevice(owner->properties.ordinal), *this, "cuda::native");
  labels_will_change();
}

void CudaStream::after_raw_work(std::string_view label, cudaError_t status) {
  const auto live = recording();
  const bool in_body = live != nullptr && live->outer != nullptr;
  if (status != cudaSuccess) {
    constexpr std::string_view kHint =
        " (a body takes kernels, copies, fills, child graphs, loops and branches only)";
    fail(status, *this, fmt::format("{}{}", label, in_body ? kHint : std::string_view()));
  }
  if (live != nullptr && live->thread == std::this_thread::get_id()) {
    name_new_nodes(*live, label, true);
  }
}

void CudaStream::declare_new_nodes(DeclaredLaunch declared, const KnownLaunch& launch) {
  const auto live = recording();
  if (live != nullptr && live->thread == std::this_thread::get_id()) {
    shared_labels().declare_last_named(std::move(declared), launch);
  }
}

}  // namespace reprise::cuda
