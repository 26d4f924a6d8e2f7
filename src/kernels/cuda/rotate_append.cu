// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/batch.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pdl.cuh"

namespace reprise::cuda_kernels {
namespace {

constexpr int kThreads = 256;
constexpr ProgrammaticKernel kDeclared{
    .kernel = "rotate_append_kernel", .waits = true, .triggers_early = true};

/// A thread rotates one pair (i, i + head_dim / 2) of q or of k, or copies such a pair of v: all
/// three have half a head's features to do per head.
template <class T>
__global__ void rotate_append_kernel(RotateAppendArgs args) {
  let_consumer_start();
  wait_for_producer();
  const auto [heads, kv_heads, head_dim] = args.geometry;
  const int half = head_dim / 2;
  const int item = static_cast<int>(blockIdx.y) * kThreads + static_cast<int>(threadIdx.x);
  const int head = item / half;
  if (head >= heads + 2 * kv_heads) return;
  const int i = item % half;
  const std::int64_t r = blockIdx.x;
  const int row = args.first_row + static_cast<int>(r);
  T* q = static_cast<T*>(args.q) + (r * heads + head) * head_dim;
  const bool used = row < true_rows(args.batch, args.first_row + args.rows);
  const int position = used ? args.batch.positions[row] : 0;
  if (!used || position < 0 || position >= args.rope_positions ||
      position >= table_positions(args.batch)) {
    const T value = from_float<T>(used ? not_a_number() : 0.0f);
    if (head < heads) q[i] = q[half + i] = value;
    return;
  }
  const float* source = args.qkv + (r * (heads + 2 * kv_heads) + head) * head_dim;
  float low = source[i];
  float high = source[half + i];
  if (head < heads + kv_heads) {
    const float2 angle = load_pair(args.rope + std::int64_t{position} * head_dim + 2 * i);
    const float rotated = low * angle.x - high * angle.y;
    high = high * angle.x + low * angle.y;
    low = rotated;
  }
  T* target = q;
  if (head >= heads) {
    const bool value = head >= heads + kv_heads;
    const int kv_head = head - heads - (value ? kv_heads : 0);
    const std::int64_t entry = entry_of(pages_of(args.batch, row), position);
    target = static_cast<T*>(value ? args.cache.values : args.cache.keys) +
             (entry * kv_heads + kv_head) * head_dim;
  }
  before_last_store();
  target[i] = from_float<T>(low);
  target[half + i] = from_float<T>(high);
}

}  // namespace

void rotate_append(const RotateAppendArgs& args, const Target& target) {
  if (args.q_dtype != args.cache.dtype) refuse_types(args.q_dtype, args.cache.dtype);
  const HeadGeometry& g = args.geometry;
  const std::int64_t items = std::int64_t{g.heads + 2 * g.kv_heads} * (g.head_dim / 2);
  const dim3 grid(static_cast<unsigned>(args.rows), blocks_for(items, kThreads));
  // The cache is written too; how far it reaches is not known here.
  const std::int64_t elements = std::int64_t{args.rows} * g.heads * g.head_dim;
  const auto written = range_of(args.q, elements, args.q_dtype, "q");
  with_type(args.q_dtype, "q", [&]<class T>(TypeTag<T>) {
    launch(target, "rope", kDeclared, written, rotate_append_kernel<T>, grid, dim3(kThreads), args);
  });
}

}  // namespace reprise::cuda_kernels
