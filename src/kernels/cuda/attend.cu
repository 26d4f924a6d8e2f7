// SPDX-License-Identifier: Apache-2.0
// Attention of one row over its sequence's pages: a block per row and up to kGroup query heads that
// share a key head. The block's warps take runs of kRun positions in turn, counted from the row's
// first visible one, each with a running softmax; the warps' results are merged in their order. So
// a row's bits depend on its own positions only, and nothing of size [length] is ever stored.
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
constexpr int kWidestHead = 256;  // features whose values a warp keeps in registers
constexpr ProgrammaticKernel kDeclared{
    .kernel = "attend_kernel", .waits = true, .triggers_early = true};

/// What one warp knows of kGroup heads; a lane holds the pairs lane, lane + 32, … of features.
template <int kGroup, int kPairs>
struct Partial {
  float largest[kGroup];
  float sum[kGroup];
  float2 values[kGroup][kPairs];
};

template <int kGroup, int kPairs>
struct Merge {
  float largest[kWarps][kGroup];
  float sum[kWarps][kGroup];
  float values[kWarps][kGroup][kPairs * 2 * kWarp];
};

template <class T, int kPairs>
__device__ __forceinline__ void load_head(const T* head, int half, float2 (&out)[kPairs]) {
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int pair = static_cast<int>(threadIdx.x % kWarp) + i * kWarp;
    out[i] = pair < half ? load_pair(head + 2 * pair) : float2{0, 0};
  }
}

/// Takes kRun more positions into the running softmax; scores of those beyond the last are -inf.
template <int kGroup, int kPairs, int kRun>
__device__ __forceinline__ void accumulate(Partial<kGroup, kPairs>& state,
                                           const float (&scores)[kGroup][kRun],
                                           const float2 (&values)[kRun][kPairs]) {
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    float largest = state.largest[g];
#pragma unroll
    for (int u = 0; u < kRun; ++u) largest = fmaxf(largest, scores[g][u]);
    const float keep = expf(state.largest[g] - largest);
    state.largest[g] = largest;
    state.sum[g] *= keep;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      state.values[g][i].x *= keep;
      state.values[g][i].y *= keep;
    }
#pragma unroll
    for (int u = 0; u < kRun; ++u) {
      const float weight = expf(scores[g][u] - largest);
      state.sum[g] += weight;
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        state.values[g][i].x = fmaf(weight, values[u][i].x, state.values[g][i].x);
        state.values[g][i].y = fmaf(weight, values[u][i].y, state.values[g][i].y);
      }
    }
  }
}

/// Scores and values of the positions [start, start + kRun), those above `last` left out.
template <class T, int kGroup, int kPairs, int kRun>
__device__ __forceinline__ void attend_run(const AttendArgs& args, const HeadGeometry& geometry,
                                           const std::int32_t* pages, int kv_head, int start,
                                           int last, const float2 (&q)[kGroup][kPairs],
                                           Partial<kGroup, kPairs>& state) {
  const int half = geometry.head_dim / 2;
  float2 keys[kRun][kPairs];
  float2 values[kRun][kPairs];
#pragma unroll
  for (int u = 0; u < kRun; ++u) {
    const std::int64_t at =
        (entry_of(pages, min(start + u, last)) * geometry.kv_heads + kv_head) * geometry.head_dim;
    load_head(static_cast<const T*>(args.cache.keys) + at, half, keys[u]);
    load_head(static_cast<const T*>(args.cache.values) + at, half, values[u]);
  }
  float scores[kGroup][kRun];
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
#pragma unroll
    for (int u = 0; u < kRun; ++u) {
      float dot = 0;
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        dot = fmaf(q[g][i].x, keys[u][i].x, dot);
        dot = fmaf(q[g][i].y, keys[u][i].y, dot);
      }
      dot = warp_sum(dot);
      scores[g][u] = start + u <= last ? dot : -INFINITY;
    }
  }
  accumulate(state, scores, values);
}

template <int kGroup, int kPairs>
__device__ __forceinline__ void publish(Merge<kGroup, kPairs>& merge,
                                        const Partial<kGroup, kPairs>& state) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    if (lane == 0) {
      merge.largest[warp][g] = state.largest[g];
      merge.sum[warp][g] = state.sum[g];
    }
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      *reinterpret_cast<float2*>(&merge.values[warp][g][2 * (lane + i * kWarp)]) =
          state.values[g][i];
    }
  }
}

template <int kGroup, int kPairs>
__device__ __forceinline__ float merged(const Merge<kGroup, kPairs>& merge, int g, int feature) {
  float largest = merge.largest[0][g];
#pragma unroll
  for (int warp = 1; warp < kWarps; ++warp) largest = fmaxf(largest, merge.largest[warp][g]);
  float sum = 0;
  float value = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) {
    const float weight = expf(merge.largest[warp][g] - largest);
    sum = fmaf(merge.sum[warp][g], weight, sum);
    value = fmaf(merge.values[warp][g][feature], weight, value);
  }
  return value / sum;
}

template <class T, int kGroup, int kPairs>
__global__ void __launch_bounds__(kThreads)
    attend_kernel(AttendDescriptor descriptor, AttendArgs args, int rows) {
  let_consumer_start();
  wait_for_producer();
  constexpr int kRun = kPairs * kGroup > 8 ? 2 : 4;
  const auto [heads, kv_heads, head_dim] = descriptor.geometry;
  const int group = heads / kv_heads;
  const int chunks = (group + kGroup - 1) / kGroup;
  const int kv_head = static_cast<int>(blockIdx.y) / chunks;
  const int first_of_group = static_cast<int>(blockIdx.y) % chunks * kGroup;
  const int here = min(kGroup, group - first_of_group);  // query heads of this block
  const int row = blockIdx.x;
  const std::int64_t at = (std::int64_t{row} * heads + kv_head * group + first_of_group) * head_dim;
  T* out = static_cast<T*>(args.out) + at;

  const bool used = row < true_rows(args.batch, rows);
  const int position = used ? args.batch.positions[row] : 0;
  if (!used || position < 0 || position >= table_positions(args.batch)) {
    const T value = from_float<T>(used ? not_a_number() : 0.0f);
    for (int i = threadIdx.x; i < here * head_dim; i += kThreads) out[i] = value;
    return;
  }
  const int first = descriptor.window == 0 ? 0 : max(0, position + 1 - descriptor.window);
  float2 q[kGroup][kPairs];
  Partial<kGroup, kPairs> state;
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    load_head(static_cast<const T*>(args.q) + at + min(g, here - 1) * head_dim, head_dim / 2, q[g]);
    state.largest[g] = -INFINITY;
    state.sum[g] = 0;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      q[g][i].x *= descriptor.scale;
      q[g][i].y *= descriptor.scale;
      state.values[g][i] = {0, 0};
    }
  }
  const std::int32_t* pages = pages_of(args.batch, row);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int start = first + warp * kRun; start <= position; start += kWarps * kRun) {
    attend_run<T, kGroup, kPairs, kRun>(args, descriptor.geometry, pages, kv_head, start, position,
                                        q, state);
  }
  __shared__ Merge<kGroup, kPairs> merge;
  publish(merge, state);
  __syncthreads();
  before_last_store();
  for (int i = threadIdx.x; i < here * head_dim; i += kThreads) {
    out[i] = from_float<T>(merged(merge, i / head_dim, i % head_dim));
  }
}

template <class T, int kGroup>
auto kernel_for(int head_dim) {
  if (head_dim <= 2 * kWarp) return attend_kernel<T, kGroup, 1>;
  if (head_dim <= 4 * kWarp) return attend_kernel<T, kGroup, 2>;
  return attend_kernel<T, kGroup, 4>;
}

}  // namespace

void attend(const AttendDescriptor& descriptor, const AttendArgs& args, int rows,
            const Target& target) {
  const HeadGeometry& g = descriptor.geometry;
  if (g.head_dim > kWidestHead) return attend_wide(descriptor, args, rows, target);
  constexpr int kShared = 4;  // heads per block where several share a key head
  const int group = g.heads / g.kv_heads;
  const unsigned chunks = group == 1 ? 1 : blocks_for(group, kShared);
  const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(g.kv_heads) * chunks);
  const std::int64_t elements = std::int64_t{rows} * g.heads * g.head_dim;
  const auto written = range_of(args.out, elements, args.cache.dtype, "attention output");
  with_type(args.cache.dtype, "the cache", [&]<class T>(TypeTag<T>) {
    const auto kernel =
        group == 1 ? kernel_for<T, 1>(g.head_dim) : kernel_for<T, kShared>(g.head_dim);
    launch(target, "attend", kDeclared, written, kernel, grid, dim3(kThreads), descriptor, args,
           rows);
  });
}

}  // namespace reprise::cuda_kernels
