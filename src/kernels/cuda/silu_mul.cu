// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"

namespace reprise::cuda_kernels {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void silu_mul_kernel(const float* gate_up, T* out, int rows, int width) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i >= width) return;
  for (int row = blockIdx.y; row < rows; row += gridDim.y) {
    const float* gate = gate_up + 2 * std::int64_t{row} * width;
    const float value = gate[i] / (1.0f + expf(-gate[i])) * gate[width + i];
    out[std::int64_t{row} * width + i] = from_float<T>(value);
  }
}

}  // namespace

void silu_mul(const SiluMulArgs& args, Stream& stream) {
  constexpr int kMostBlocks = 65535;  // along y
  const dim3 grid(blocks_for(args.width, kThreads),
                  static_cast<unsigned>(args.rows < kMostBlocks ? args.rows : kMostBlocks));
  with_type(args.out_dtype, "the output of silu", [&]<class T>(TypeTag<T>) {
    launch(stream, "silu", silu_mul_kernel<T>, grid, dim3(kThreads), args.gate_up,
           static_cast<T*>(args.out), args.rows, args.width);
  });
}

}  // namespace reprise::cuda_kernels
