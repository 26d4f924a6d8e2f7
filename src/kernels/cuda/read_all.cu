// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/reduce.cuh"

namespace reprise::cuda_kernels {
namespace {

constexpr int kThreads = 512;
constexpr int kLoads = 8;  // in flight per thread, of 16 bytes
constexpr std::int64_t kPiece = std::int64_t{kThreads} * kLoads;

__device__ __forceinline__ std::uint32_t folded(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

/// Each block reads pieces of kThreads * kLoads vectors. Exclusive or knows no order, so the atomic
/// one at the end gives the same bits always.
__global__ void __launch_bounds__(kThreads)
    read_all_kernel(const std::uint8_t* data, std::int64_t bytes, std::uint32_t* sink) {
  const auto* vectors = reinterpret_cast<const uint4*>(data);
  const std::int64_t count = bytes / 16;
  std::uint32_t word = 0;
  for (std::int64_t first = blockIdx.x * kPiece; first < count; first += gridDim.x * kPiece) {
    if (first + kPiece <= count) {
      uint4 loaded[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        loaded[i] = __ldcs(vectors + first + i * kThreads + threadIdx.x);
      }
#pragma unroll
      for (int i = 0; i < kLoads; ++i) word ^= folded(loaded[i]);
    } else {
      for (std::int64_t i = first + threadIdx.x; i < count; i += kThreads) {
        word ^= folded(vectors[i]);
      }
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    for (std::int64_t i = count * 16; i < bytes; ++i) {
      word ^= std::uint32_t{data[i]} << (8 * (i % 4));
    }
  }
  word = __reduce_xor_sync(kAllLanes, word);
  if (threadIdx.x % kWarp == 0) atomicXor(sink, word);
}

}  // namespace

void read_all(const void* data, std::size_t bytes, std::uint32_t* sink, Stream& stream) {
  stream.fill({sink, sizeof *sink, MemorySpace::device}, 0);
  const std::int64_t pieces = static_cast<std::int64_t>(bytes) / 16 / kPiece + 1;
  const int multiprocessors = stream.device().properties().multiprocessors;
  const auto blocks = std::min<std::int64_t>(pieces, std::int64_t{4} * multiprocessors);
  launch(stream, "read_all", read_all_kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads),
         static_cast<const std::uint8_t*>(data), static_cast<std::int64_t>(bytes), sink);
}

}  // namespace reprise::cuda_kernels
