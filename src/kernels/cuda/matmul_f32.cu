// SPDX-License-Identifier: Apache-2.0
// Products in f32 without tensor cores, for any number of rows. A warp computes kOutputs outputs of
// up to kRows rows; its lanes take four columns at a time in turn, and their sums are added by a
// fixed tree. The order depends on the number of columns only.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/reduce.cuh"

namespace reprise::cuda_kernels {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
constexpr int kOutputs = 2;
constexpr int kVector = 4;
constexpr ProgrammaticKernel kDeclared{
    .kernel = "matmul_f32_kernel", .waits = true, .triggers_early = true};

struct Problem {
  const float* weight;
  const float* input;
  const float* bias;
  float* out;
  std::int64_t outputs;
  std::int64_t cols;
  int rows;
  bool accumulate;
};

template <bool kAligned>
__device__ __forceinline__ float4 load_vector(const float* row, std::int64_t col, std::int64_t cols,
                                              bool exists) {
  if (!exists) return {0, 0, 0, 0};
  if constexpr (kAligned) return *reinterpret_cast<const float4*>(row + col);
  return {row[col], col + 1 < cols ? row[col + 1] : 0, col + 2 < cols ? row[col + 2] : 0,
          col + 3 < cols ? row[col + 3] : 0};
}

template <int kRows, bool kAligned>
__global__ void __launch_bounds__(kThreads) matmul_f32_kernel(Problem p) {
  let_consumer_start();
  wait_for_producer();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t first_output =
      (std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp) * kOutputs;
  const std::int64_t first_row = std::int64_t{blockIdx.y} * kRows;
  float sums[kOutputs][kRows] = {};
  for (std::int64_t col = lane * kVector; col < p.cols; col += kWarp * kVector) {
    float4 w[kOutputs];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      const std::int64_t output = first_output + o;
      w[o] = load_vector<kAligned>(p.weight + output * p.cols, col, p.cols, output < p.outputs);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t row = first_row + r;
      const float4 x = load_vector<kAligned>(p.input + row * p.cols, col, p.cols, row < p.rows);
#pragma unroll
      for (int o = 0; o < kOutputs; ++o) {
        float& sum = sums[o][r];
        sum = fmaf(w[o].x, x.x, sum);
        sum = fmaf(w[o].y, x.y, sum);
        sum = fmaf(w[o].z, x.z, sum);
        sum = fmaf(w[o].w, x.w, sum);
      }
    }
  }
  before_last_store();
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float sum = warp_sum(sums[o][r]);
      const std::int64_t output = first_output + o;
      if (lane != 0 || output >= p.outputs || first_row + r >= p.rows) continue;
      if (p.bias != nullptr) sum += p.bias[output];
      float* out = p.out + (first_row + r) * p.outputs + output;
      *out = p.accumulate ? *out + sum : sum;
    }
  }
}

template <int kRows>
void run(const Problem& p, const char* label, const Target& target) {
  const dim3 grid(blocks_for(p.outputs, kWarps * kOutputs), blocks_for(p.rows, kRows));
  const auto kernel =
      p.cols % kVector == 0 ? matmul_f32_kernel<kRows, true> : matmul_f32_kernel<kRows, false>;
  const auto written = range_of(p.out, p.rows * p.outputs, DType::f32, "product");
  launch(target, label, kDeclared, written, kernel, grid, dim3(kThreads), p);
}

}  // namespace

void matmul_f32(const MatmulArgs& args, const Target& target) {
  const Weight& weight = *args.weight;
  const Problem problem{.weight = static_cast<const float*>(weight.parts[0].data),
                        .input = static_cast<const float*>(args.input),
                        .bias = vector_data(args.bias, "bias"),
                        .out = static_cast<float*>(args.out),
                        .outputs = weight.rows,
                        .cols = weight.cols,
                        .rows = args.rows,
                        .accumulate = args.accumulate};
  if (args.rows == 1) return run<1>(problem, "matmul", target);
  run<8>(problem, "matmul", target);
}

}  // namespace reprise::cuda_kernels
