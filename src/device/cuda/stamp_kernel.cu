// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/stamp_kernel.h"

namespace reprise::cuda {
namespace {

__global__ void stamp_kernel(std::uint64_t* to) {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  *to = now;
  // `to` may lie in the host's memory, and a later node may be the device's last.
  __threadfence_system();
}

}  // namespace

cudaError_t add_stamp_node(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& before,
                           std::uint64_t* to, cudaGraphNode_t& node) {
  void* arguments[] = {static_cast<void*>(&to)};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(stamp_kernel);
  params.gridDim = dim3(1);
  params.blockDim = dim3(1);
  params.kernelParams = arguments;
  return cudaGraphAddKernelNode(&node, graph, before.data(), before.size(), &params);
}

}  // namespace reprise::cuda
