// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/reduce.cuh"

namespace reprise::cuda_kernels {
namespace {

constexpr int kWarps = 16;
constexpr int kThreads = kWarps * kWarp;
constexpr ProgrammaticKernel kDeclared{
    .kernel = "rms_norm_kernel", .waits = true, .triggers_early = true};

template <class T>
__global__ void __launch_bounds__(kThreads)
    rms_norm_kernel(const float* input, const float* weight, float eps, T* out, int width) {
  let_consumer_start();
  wait_for_producer();
  const std::int64_t first = std::int64_t{blockIdx.x} * width;
  float squares = 0;
  for (int i = threadIdx.x; i < width; i += kThreads) {
    const float value = input[first + i];
    squares = fmaf(value, value, squares);
  }
  const float sum = block_sum<kWarps>(squares);
  const float scale = 1.0f / sqrtf(sum / static_cast<float>(width) + eps);
  before_last_store();
  for (int i = threadIdx.x; i < width; i += kThreads) {
    out[first + i] = from_float<T>(input[first + i] * scale * weight[i]);
  }
}

}  // namespace

void rms_norm(const RmsNormArgs& args, const Target& target) {
  const std::int64_t elements = std::int64_t{args.rows} * args.width;
  const auto written = range_of(args.out, elements, args.out_dtype, "normalised rows");
  with_type(args.out_dtype, "the output of norm", [&]<class T>(TypeTag<T>) {
    launch(target, "norm", kDeclared, written, rms_norm_kernel<T>,
           dim3(static_cast<unsigned>(args.rows)), dim3(kThreads), args.input,
           vector_data(args.weight, "norm"), args.eps, static_cast<T*>(args.out), args.width);
  });
}

}  // namespace reprise::cuda_kernels
