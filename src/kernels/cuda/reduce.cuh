// SPDX-License-Identifier: Apache-2.0
// Sums in one fixed order.
#pragma once

namespace reprise::cuda_kernels {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

/// Every lane gets the sum; additions commute, so all get the same bits.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

/// Sum over a block of kWarps full warps; every thread gets it.
template <int kWarps>
__device__ __forceinline__ float block_sum(float value) {
  __shared__ float partial[kWarps];
  value = warp_sum(value);
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) sum += partial[warp];
  return sum;
}

}  // namespace reprise::cuda_kernels
