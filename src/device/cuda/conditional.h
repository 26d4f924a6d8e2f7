// SPDX-License-Identifier: Apache-2.0
// Loops and branches as conditional nodes. A kernel of ours reads the condition before the node,
// and at the end of a loop's body once more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "device/conditional.h"
#include "device/cuda/graph.h"
#include "device/cuda/stream.h"

namespace reprise::cuda {

// The control kernels (conditional_kernels.cu), enqueued on a stream that is captured. `count`, in
// device memory, is a loop's; null for a branch.
cudaError_t launch_first_test(cudaStream_t stream, cudaGraphConditionalHandle handle,
                              const std::int32_t* condition, std::uint32_t* count);
cudaError_t launch_next_test(cudaStream_t stream, cudaGraphConditionalHandle handle,
                             const std::int32_t* condition, std::uint32_t* count,
                             std::uint32_t most);
/// Loads them, so that nothing is loaded inside a recording. An error is the launch's to report.
void load_control_kernels() noexcept;

/// Owns a stream that a body is captured on.
class BodyStream {
 public:
  explicit BodyStream(DeviceState& device);
  ~BodyStream();
  BodyStream(const BodyStream&) = delete;
  BodyStream& operator=(const BodyStream&) = delete;
  cudaStream_t get() const noexcept { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaConditional final : public ConditionalCapture {
 public:
  /// Puts the first test and the node behind the stream's work.
  CudaConditional(CudaStream& stream, const ConditionalSpec& spec);

  void begin_body(std::shared_ptr<LiveRecording> body) override;
  void end_body() override;
  void discard_body() noexcept override;
  void commit() override;

 private:
  void add_node(cudaGraph_t graph, cudaGraphConditionalHandle handle);
  void require_untouched_outside();
  void keep_nodes(GraphNodes nodes);

  CudaStream& stream_;
  const ConditionalSpec spec_;
  const BodyStream body_stream_;
  cudaGraphConditionalHandle handle_{};
  std::uint32_t* count_ = nullptr;  // kept by the recording
  cudaGraphNode_t node_ = nullptr;
  std::vector<cudaGraph_t> graphs_;  // the node's
  CudaStream::Target outside_;       // while a body is open: what the stream goes back to
  ConditionalNode recorded_;
};

}  // namespace reprise::cuda
