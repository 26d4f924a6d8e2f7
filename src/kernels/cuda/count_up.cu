// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"

namespace reprise::cuda_kernels {
namespace {

__global__ void count_up_kernel(std::uint32_t* counter) { ++*counter; }

}  // namespace

void count_up(std::uint32_t* counter, Stream& stream) {
  launch(stream, "count_up", count_up_kernel, dim3(1), dim3(1), counter);
}

}  // namespace reprise::cuda_kernels
