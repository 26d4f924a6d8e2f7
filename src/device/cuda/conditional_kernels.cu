// SPDX-License-Identifier: Apache-2.0
// Decides on the device whether a loop goes on and which branch is taken.
#include <cuda_runtime.h>

#include "device/cuda/conditional.h"

namespace reprise::cuda {
namespace {

__global__ void first_test_kernel(cudaGraphConditionalHandle handle, const std::int32_t* condition,
                                  std::uint32_t* count) {
  if (count != nullptr) *count = 0;
  cudaGraphSetConditional(handle, *condition != 0 ? 1U : 0U);
}

__global__ void next_test_kernel(cudaGraphConditionalHandle handle, const std::int32_t* condition,
                                 std::uint32_t* count, std::uint32_t most) {
  const std::uint32_t done = *count + 1;
  *count = done;
  cudaGraphSetConditional(handle, done < most && *condition != 0 ? 1U : 0U);
}

}  // namespace

cudaError_t launch_first_test(cudaStream_t stream, cudaGraphConditionalHandle handle,
                              const std::int32_t* condition, std::uint32_t* count) {
  first_test_kernel<<<1, 1, 0, stream>>>(handle, condition, count);
  return cudaGetLastError();
}

cudaError_t launch_next_test(cudaStream_t stream, cudaGraphConditionalHandle handle,
                             const std::int32_t* condition, std::uint32_t* count,
                             std::uint32_t most) {
  next_test_kernel<<<1, 1, 0, stream>>>(handle, condition, count, most);
  return cudaGetLastError();
}

void load_control_kernels() noexcept {
  for (const void* kernel : {reinterpret_cast<const void*>(first_test_kernel),
                             reinterpret_cast<const void*>(next_test_kernel)}) {
    cudaFuncAttributes attributes{};
    if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) cudaGetLastError();
  }
}

}  // namespace reprise::cuda
