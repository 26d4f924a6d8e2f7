// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/random_weights.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"

namespace reprise::cuda_kernels {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 4096;

template <class T, class Stored>
__global__ void random_kernel(Stored* out, std::int64_t elements, std::uint64_t seed, float scale) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements;
       i += step) {
    const T value = from_float<T>(random_weight(seed, static_cast<std::uint64_t>(i), scale));
    out[i] = from_float<Stored>(to_float(value));
  }
}

}  // namespace

void fill_random(void* out, DType dtype, DType stored, std::int64_t elements,
                 std::uint64_t tensor_seed, float scale, Stream& stream) {
  const std::int64_t blocks = std::min<std::int64_t>(blocks_for(elements, kThreads), kMostBlocks);
  const dim3 grid(static_cast<unsigned>(blocks));
  with_type(dtype, "a random weight", [&]<class T>(TypeTag<T>) {
    if (stored == dtype) {
      launch(stream, "random weights", random_kernel<T, T>, grid, dim3(kThreads),
             static_cast<T*>(out), elements, tensor_seed, scale);
    } else {
      launch(stream, "random weights", random_kernel<T, float>, grid, dim3(kThreads),
             static_cast<float*>(out), elements, tensor_seed, scale);
    }
  });
}

}  // namespace reprise::cuda_kernels
