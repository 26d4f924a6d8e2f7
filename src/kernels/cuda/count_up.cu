// SPDX-License-Identifier: Apache-2.0
#include <reprise/cuda_launch.h>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pdl.cuh"

namespace reprise::cuda_kernels {
namespace {

__global__ void count_up_kernel(std::uint32_t* counter) { ++*counter; }

}  // namespace

void count_up(std::uint32_t* counter, Stream& stream) {
  launch(stream, "count_up", count_up_kernel, dim3(1), dim3(1), counter);
}

bool jittered() { return kJitter; }

bool compiled_to_wait() {
  return cuda::compiled_to_wait(reinterpret_cast<const void*>(count_up_kernel));
}

}  // namespace reprise::cuda_kernels
