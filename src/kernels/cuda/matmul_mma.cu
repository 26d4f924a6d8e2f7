// SPDX-License-Identifier: Apache-2.0
// Products of 16-bit types on tensor cores, for any shape. A block owns kTile · kTiles outputs; its
// warps take runs of kRun columns in turn and their sums are added in the warps' order. The order
// depends on the weight's shape only, so any number of rows gives a row the same bits (DESIGN §3,
// E3). Weights are read once per pass of 8 · kRowTiles rows, straight into the registers the tensor
// cores read: 16 bytes per thread, which is why columns are dealt to the four threads of a group
// eight at a time. Both factors are dealt alike, so the product is the same.
#include <algorithm>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/reduce.cuh"

namespace reprise::cuda_kernels {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
constexpr int kTile = 16;    // outputs of one tensor core instruction
constexpr int kRowTile = 8;  // rows of one
constexpr int kVector = 8;   // elements of a 16-byte load
constexpr int kStep = 32;    // columns a warp takes by one load per thread
constexpr int kSteps = 4;    // loads in flight per thread and output
constexpr int kRun = kStep * kSteps;
constexpr ProgrammaticKernel kDeclared{
    .kernel = "matmul_mma_kernel", .waits = true, .triggers_early = true};

struct Problem {
  const void* weight;
  const void* input;
  const float* bias;
  void* out;
  std::int64_t outputs;
  std::int64_t cols;
  int rows;
  bool accumulate;
  DType out_dtype;
};

/// Eight elements from column `col` on; zeros beyond the last column or where there is no row.
template <bool kAligned, bool kStream>
__device__ __forceinline__ uint4 load_vector(const std::uint16_t* row, std::int64_t col,
                                             std::int64_t cols, bool exists) {
  uint4 v{0, 0, 0, 0};
  if (!exists || col >= cols) return v;
  if constexpr (kAligned) {
    const auto* at = row + col;
    if constexpr (kStream) {
      asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                   : "l"(at));
    } else {
      v = *reinterpret_cast<const uint4*>(at);
    }
  } else {
    std::uint32_t e[kVector];
#pragma unroll
    for (int i = 0; i < kVector; ++i) e[i] = col + i < cols ? row[col + i] : 0u;
    v = {e[0] | e[1] << 16, e[2] | e[3] << 16, e[4] | e[5] << 16, e[6] | e[7] << 16};
  }
  return v;
}

template <class T>
__device__ __forceinline__ void multiply(float (&sum)[4], std::uint32_t a0, std::uint32_t a1,
                                         std::uint32_t a2, std::uint32_t a3, std::uint32_t b0,
                                         std::uint32_t b1) {
  if constexpr (std::is_same_v<T, bf16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
}

/// Adds the bias, and what stands in `out` where the product accumulates.
__device__ __forceinline__ void store(const Problem& p, std::int64_t row, std::int64_t output,
                                      float sum) {
  if (p.bias != nullptr) sum += p.bias[output];
  const std::int64_t at = row * p.outputs + output;
  if (p.out_dtype == DType::f32) {
    float* out = static_cast<float*>(p.out) + at;
    *out = p.accumulate ? *out + sum : sum;
  } else if (p.out_dtype == DType::bf16) {
    static_cast<bf16*>(p.out)[at] = from_float<bf16>(sum);
  } else {
    static_cast<f16*>(p.out)[at] = from_float<f16>(sum);
  }
}

/// A warp's sums of all its columns, for kTiles tiles of outputs and kRowTiles of rows.
template <class T, int kTiles, int kRowTiles, bool kAligned>
__device__ __forceinline__ void warp_product(const Problem& p, std::int64_t first_output,
                                             int first_row, float (&sums)[kTiles][kRowTiles][4]) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int in_tile = lane / 4;  // row of the fragment
  const auto* weight = static_cast<const std::uint16_t*>(p.weight);
  const auto* input = static_cast<const std::uint16_t*>(p.input);
  for (std::int64_t run = warp * kRun + lane % 4 * kVector; run < p.cols + lane % 4 * kVector;
       run += kWarps * kRun) {
    uint4 w[kTiles][2][kSteps];
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int half = 0; half < 2 * kTiles; ++half) {
        const std::int64_t output = first_output + in_tile + half * kTile / 2;
        w[half / 2][half % 2][step] = load_vector<kAligned, true>(
            weight + output * p.cols, run + step * kStep, p.cols, output < p.outputs);
      }
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int n = 0; n < kRowTiles; ++n) {
        const std::int64_t row = first_row + n * kRowTile + in_tile;
        const uint4 x = load_vector<kAligned, false>(input + row * p.cols, run + step * kStep,
                                                     p.cols, row < p.rows);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          const uint4& low = w[m][0][step];
          const uint4& high = w[m][1][step];
          multiply<T>(sums[m][n], low.x, high.x, low.y, high.y, x.x, x.y);
          multiply<T>(sums[m][n], low.z, high.z, low.w, high.w, x.z, x.w);
        }
      }
    }
  }
}

template <class T, int kTiles, int kRowTiles, bool kAligned>
__global__ void __launch_bounds__(kThreads, 2) matmul_mma_kernel(Problem p) {
  constexpr int kRows = kRowTiles * kRowTile;
  __shared__ float partial[kWarps][kRows][kTile + 1];
  const std::int64_t first_output = std::int64_t{blockIdx.x} * (kTile * kTiles);
  const int first_row = static_cast<int>(blockIdx.y) * kRows;
  let_consumer_start();
  wait_for_producer();
  float sums[kTiles][kRowTiles][4] = {};
  warp_product<T, kTiles, kRowTiles, kAligned>(p, first_output, first_row, sums);

  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
    if (m > 0) __syncthreads();
#pragma unroll
    for (int n = 0; n < kRowTiles; ++n) {
      const int row = n * kRowTile + lane % 4 * 2;
      partial[warp][row][lane / 4] = sums[m][n][0];
      partial[warp][row + 1][lane / 4] = sums[m][n][1];
      partial[warp][row][lane / 4 + 8] = sums[m][n][2];
      partial[warp][row + 1][lane / 4 + 8] = sums[m][n][3];
    }
    __syncthreads();
    if (m + 1 == kTiles) before_last_store();
    for (int i = threadIdx.x; i < kRows * kTile; i += kThreads) {
      const int row = i / kTile;
      const std::int64_t output = first_output + m * kTile + i % kTile;
      if (first_row + row >= p.rows || output >= p.outputs) continue;
      float sum = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) sum += partial[w][row][i % kTile];
      store(p, first_row + row, output, sum);
    }
  }
}

template <class T, int kTiles, int kRowTiles, bool kAligned>
void run(const Problem& p, const char* label, const Target& target) {
  const dim3 grid(blocks_for(p.outputs, kTile * kTiles), blocks_for(p.rows, kRowTiles * kRowTile));
  const DeclaredRange written = range_of(p.out, p.rows * p.outputs, p.out_dtype, "product");
  launch(target, label, kDeclared, written, matmul_mma_kernel<T, kTiles, kRowTiles, kAligned>, grid,
         dim3(kThreads), p);
}

template <class T>
void choose(const Problem& p, const char* label, const Target& target) {
  if (p.cols % kVector != 0) return run<T, 1, 4, false>(p, label, target);
  if (p.rows <= 8) return run<T, 1, 1, true>(p, label, target);
  if (p.rows <= 16) return run<T, 1, 2, true>(p, label, target);
  if (p.rows <= 32) return run<T, 1, 4, true>(p, label, target);
  return run<T, 1, 8, true>(p, label, target);
}

}  // namespace

void matmul_mma(const MatmulArgs& args, const Target& target) {
  const Weight& weight = *args.weight;
  const Problem problem{.weight = weight.parts[0].data,
                        .input = args.input,
                        .bias = vector_data(args.bias, "bias"),
                        .out = args.out,
                        .outputs = weight.rows,
                        .cols = weight.cols,
                        .rows = args.rows,
                        .accumulate = args.accumulate,
                        .out_dtype = args.out_dtype};
  if (weight.dtype == DType::bf16) return choose<bf16>(problem, "matmul", target);
  choose<f16>(problem, "matmul", target);
}

}  // namespace reprise::cuda_kernels
