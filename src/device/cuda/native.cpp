// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <reprise/cuda.h>
#include <reprise/cuda_launch.h>

#include "device/checks.h"
#include "device/cuda/event.h"
#include "device/cuda/own_launch.h"
#include "device/cuda/stream.h"
#include "device/launch_lint.h"

namespace reprise::cuda {
namespace {

void require_cuda(const Device& device, std::string_view call) {
  if (device.kind() == DeviceKind::cuda) return;
  throw UsageError(
      fmt::format("{} on device {}: it works on a CUDA device only", call, device.label()));
}

CudaStream& cuda_stream(Stream& stream, std::string_view call) {
  require_cuda(stream.device(), call);
  return static_cast<CudaStream&>(stream.state());
}

}  // namespace

cudaStream_t native(Stream& stream) {
  CudaStream& state = cuda_stream(stream, "cuda::native");
  checks::admit_work(state, "cuda::native");
  state.before_raw_work();
  state.hand_out();
  return state.handle();
}

cudaStream_t own_launch_handle(Stream& stream) {
  CudaStream& state = cuda_stream(stream, "cuda::native");
  checks::admit_work(state, "cuda::native");
  state.before_raw_work();
  return state.handle();
}

void note_work(Stream& stream, std::string_view label) {
  cuda_stream(stream, "cuda::note_work").after_raw_work(label, cudaGetLastError());
}

void note_work(Stream& stream, std::string_view label, const LaunchDeclaration& declaration) {
  if (!stream.recording()) {
    require_declared_wait(declaration, "cuda::note_work", label,
                          cuda_stream(stream, "cuda::note_work"));
  }
  note_own_launch(stream, label, declaration, has_programmatic_launch(stream.device()), {},
                  cudaGetLastError());
}

void note_own_launch(Stream& stream, std::string_view label, const LaunchDeclaration& declaration,
                     bool supported, const KnownLaunch& launch, cudaError_t status) {
  CudaStream& state = cuda_stream(stream, "cuda::note_work");
  state.after_raw_work(label, status);
  if (!stream.recording()) return;
  DeclaredLaunch declared = keep(declaration);
  declared.supported = supported;
  // Who has the handle may have given the stream attributes, and with it the node.
  state.declare_new_nodes(std::move(declared), state.handed_out() ? KnownLaunch{} : launch);
}

cudaEvent_t native(Event& event) {
  require_cuda(*event.state().device, "cuda::native");
  return static_cast<CudaEvent&>(event.state()).handle();
}

}  // namespace reprise::cuda
