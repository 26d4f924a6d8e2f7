// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pdl.cuh"

namespace reprise::cuda_kernels {
namespace {

constexpr int kThreads = 256;
constexpr ProgrammaticKernel kDeclared{
    .kernel = "silu_mul_kernel", .waits = true, .triggers_early = true};

template <class T>
__global__ void silu_mul_kernel(const float* gate_up, T* out, int rows, int width) {
  let_consumer_start();
  wait_for_producer();
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i >= width) return;
  for (int row = blockIdx.y; row < rows; row += gridDim.y) {
    const float* gate = gate_up + 2 * std::int64_t{row} * width;
    const float value = gate[i] / (1.0f + expf(-gate[i])) * gate[width + i];
    if (row + static_cast<int>(gridDim.y) >= rows) before_last_store();
    out[std::int64_t{row} * width + i] = from_float<T>(value);
  }
}

}  // namespace

void silu_mul(const SiluMulArgs& args, const Target& target) {
  constexpr int kMostBlocks = 65535;  // along y
  const dim3 grid(blocks_for(args.width, kThreads),
                  static_cast<unsigned>(args.rows < kMostBlocks ? args.rows : kMostBlocks));
  const std::int64_t elements = std::int64_t{args.rows} * args.width;
  const auto written = range_of(args.out, elements, args.out_dtype, "gated activation");
  with_type(args.out_dtype, "the output of silu", [&]<class T>(TypeTag<T>) {
    launch(target, "silu", kDeclared, written, silu_mul_kernel<T>, grid, dim3(kThreads),
           args.gate_up, static_cast<T*>(args.out), args.rows, args.width);
  });
}

}  // namespace reprise::cuda_kernels
