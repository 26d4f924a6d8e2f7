// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.h"

#include <string>

#include <reprise/cuda.h>
#include <reprise/error.h>

namespace reprise::cuda_kernels {

void launch_by_address(Stream& stream, const char* operation, const void* kernel, dim3 grid,
                       dim3 block, void** arguments) {
  cuda::enqueue(stream, operation, [&](cudaStream_t native) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = native;
    cudaLaunchKernelExC(&config, kernel, arguments);  // enqueue() asks for its error
  });
}

void refuse_type(DType dtype, const char* what) {
  throw UsageError(std::string(what) + " is " + std::string(to_string(dtype)) +
                   "; the CUDA operations take f32, f16 and bf16");
}

void refuse_types(DType q, DType cache) {
  throw UsageError("rope: q is " + std::string(to_string(q)) + " and the cache " +
                   std::string(to_string(cache)) + "; the CUDA operations keep both in one type");
}

void refuse_head_dim(int head_dim, int most) {
  throw UsageError("attend.geometry.head_dim is " + std::to_string(head_dim) +
                   "; the CUDA operations take at most " + std::to_string(most) +
                   ", the host (--device host) any number");
}

}  // namespace reprise::cuda_kernels
