// SPDX-License-Identifier: Apache-2.0
// Attention for heads of more features than attend.cu keeps in registers: a block per row and query
// head, query and running values in shared memory. The warps score one position each, then every
// thread takes its own features along. Slow beside attend.cu, and right for any head that fits.
#include "kernels/cuda/batch.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/reduce.cuh"

namespace reprise::cuda_kernels {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
constexpr int kWidestHead = 4096;  // two of f32 fit in the 48 KB that every block may have
constexpr ProgrammaticKernel kDeclared{
    .kernel = "attend_wide_kernel", .waits = true, .triggers_early = true};

/// The score of one position; every lane gets it.
template <class T>
__device__ __forceinline__ float score_of(const float* q, const T* key, int head_dim) {
  float dot = 0;
  for (int i = static_cast<int>(threadIdx.x) % kWarp; i < head_dim; i += kWarp) {
    dot = fmaf(q[i], to_float(key[i]), dot);
  }
  return warp_sum(dot);
}

/// Takes the values of a run of positions into the sums; entry(u) is where position u's begin.
template <class T, class Entry>
__device__ __forceinline__ void add_values(const T* cache, const Entry& entry,
                                           const float (&weights)[kWarps], float keep, float* sums,
                                           int head_dim) {
  for (int i = threadIdx.x; i < head_dim; i += kThreads) {
    float value = sums[i] * keep;
#pragma unroll
    for (int u = 0; u < kWarps; ++u) {
      value = fmaf(weights[u], to_float(cache[entry(u) + i]), value);
    }
    sums[i] = value;  // this thread alone reads and writes the feature
  }
}

/// What a row that attends to nothing gets.
template <class T>
__device__ __forceinline__ void fill_head(T* out, int head_dim, float value) {
  for (int i = threadIdx.x; i < head_dim; i += kThreads) out[i] = from_float<T>(value);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    attend_wide_kernel(AttendDescriptor descriptor, AttendArgs args, int rows) {
  let_consumer_start();
  wait_for_producer();
  const auto [heads, kv_heads, head_dim] = descriptor.geometry;
  const int row = blockIdx.x;
  const int head = blockIdx.y;
  const int kv_head = head / (heads / kv_heads);
  const std::int64_t at = (std::int64_t{row} * heads + head) * head_dim;
  T* out = static_cast<T*>(args.out) + at;

  const bool used = row < true_rows(args.batch, rows);
  const int position = used ? args.batch.positions[row] : 0;
  if (!used || position < 0 || position >= table_positions(args.batch)) {
    return fill_head(out, head_dim, used ? not_a_number() : 0.0f);
  }
  __shared__ float q[kWidestHead];
  __shared__ float sums[kWidestHead];
  __shared__ float scores[kWarps];
  for (int i = threadIdx.x; i < head_dim; i += kThreads) {
    q[i] = to_float(static_cast<const T*>(args.q)[at + i]) * descriptor.scale;
    sums[i] = 0;
  }
  __syncthreads();
  const std::int32_t* pages = pages_of(args.batch, row);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int first = descriptor.window == 0 ? 0 : max(0, position + 1 - descriptor.window);
  const auto entry_at = [&](int p) {
    return (entry_of(pages, min(p, position)) * kv_heads + kv_head) * head_dim;
  };
  float largest = -INFINITY;
  float sum = 0;
  for (int start = first; start <= position; start += kWarps) {
    const float score =
        score_of(q, static_cast<const T*>(args.cache.keys) + entry_at(start + warp), head_dim);
    if (threadIdx.x % kWarp == 0) scores[warp] = start + warp <= position ? score : -INFINITY;
    __syncthreads();
    const float before = largest;
    float weights[kWarps];
#pragma unroll
    for (int u = 0; u < kWarps; ++u) largest = fmaxf(largest, scores[u]);
    const float keep = expf(before - largest);
    sum *= keep;
#pragma unroll
    for (int u = 0; u < kWarps; ++u) {
      weights[u] = expf(scores[u] - largest);
      sum += weights[u];
    }
    add_values(
        static_cast<const T*>(args.cache.values), [&](int u) { return entry_at(start + u); },
        weights, keep, sums, head_dim);
    __syncthreads();  // scores are read by all before the next ones are written
  }
  before_last_store();
  for (int i = threadIdx.x; i < head_dim; i += kThreads) out[i] = from_float<T>(sums[i] / sum);
}

}  // namespace

void attend_wide(const AttendDescriptor& descriptor, const AttendArgs& args, int rows,
                 const Target& target) {
  const HeadGeometry& g = descriptor.geometry;
  if (g.head_dim > kWidestHead) refuse_head_dim(g.head_dim, kWidestHead);
  const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(g.heads));
  const std::int64_t elements = std::int64_t{rows} * g.heads * g.head_dim;
  const auto written = range_of(args.out, elements, args.cache.dtype, "attention output");
  with_type(args.cache.dtype, "the cache", [&]<class T>(TypeTag<T>) {
    launch(target, "attend", kDeclared, written, attend_wide_kernel<T>, grid, dim3(kThreads),
           descriptor, args, rows);
  });
}

}  // namespace reprise::cuda_kernels
