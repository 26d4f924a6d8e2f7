// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/batch.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/sampling.h"

namespace reprise::cuda_kernels {
namespace {

constexpr int kWarps = 32;
constexpr int kThreads = kWarps * kWarp;
constexpr ProgrammaticKernel kDeclared{
    .kernel = "select_kernel", .waits = true, .triggers_early = true};

struct Choice {
  float score;
  int token;  ///< below 0: none yet
};

/// The larger score, among equals the lower id; NaN never gets here. Associative and commutative,
/// so any order of reduction gives the same choice.
__device__ __forceinline__ Choice better(Choice a, Choice b) {
  if (b.token < 0) return a;
  if (a.token < 0) return b;
  const bool second = b.score > a.score || (b.score == a.score && b.token < a.token);
  return second ? b : a;
}

__device__ __forceinline__ Choice warp_best(Choice mine) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    mine = better(mine, {__shfl_xor_sync(kAllLanes, mine.score, distance),
                         __shfl_xor_sync(kAllLanes, mine.token, distance)});
  }
  return mine;
}

/// The best token of the row; every thread gets it.
template <class Score>
__device__ Choice block_best(int vocabulary, const Score& score) {
  __shared__ Choice partial[kWarps];
  Choice mine{0, -1};
  for (int token = threadIdx.x; token < vocabulary; token += kThreads) {
    const float value = score(token);
    if (!isnan(value)) mine = better(mine, {value, token});
  }
  mine = warp_best(mine);
  __syncthreads();  // partial may still be read by a call before this one
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = mine;
  __syncthreads();
  return warp_best(partial[threadIdx.x % kWarp]);
}

__global__ void __launch_bounds__(kThreads)
    select_kernel(int vocabulary, SelectArgs args, int rows) {
  let_consumer_start();
  wait_for_producer();
  const BatchInputs& batch = args.batch;
  const int row = blockIdx.x;
  if (row >= true_rows(batch, rows)) return;
  if (batch.alive != nullptr && batch.alive[row] == 0) return;
  const float* logits = args.logits + std::int64_t{row} * vocabulary;
  const Choice greedy = block_best(vocabulary, [&](int token) { return logits[token]; });
  const float temperature = batch.temperatures == nullptr ? 0.0f : batch.temperatures[row];
  int next = max(greedy.token, 0);
  if (temperature > 0 && greedy.token >= 0 && isfinite(greedy.score)) {
    const std::uint64_t key =
        sampling_key(batch.seeds == nullptr ? 0 : batch.seeds[row], batch.positions[row]);
    const Choice drawn = block_best(vocabulary, [&](int token) {
      return sampling_score<float>(logits[token], greedy.score, temperature,
                                   sampling_uniform(key, token));
    });
    next = max(drawn.token, 0);
  }
  before_last_store();
  if (threadIdx.x == 0) args.next[row] = next;
}

}  // namespace

void select(const SelectDescriptor& descriptor, const SelectArgs& args, int rows,
            const Target& target) {
  const auto written = range_of(args.next, rows, DType::i32, "next tokens");
  launch(target, "select", kDeclared, written, select_kernel, dim3(static_cast<unsigned>(rows)),
         dim3(kThreads), descriptor.vocabulary, args, rows);
}

}  // namespace reprise::cuda_kernels
