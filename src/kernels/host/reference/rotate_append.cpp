// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/host/batch.h"
#include "kernels/host/elements.h"
#include "kernels/host/reference/reference.h"

namespace reprise::reference {
namespace {

struct Target {
  DType dtype;
  void* data;
  std::int64_t first;
};

/// Rotates each pair (i, i + head_dim / 2) by the angle of its frequency at this position.
void rotate(const float* head, const float* angles, int head_dim, const Target& target) {
  const int half = head_dim / 2;
  for (int i = 0; i < half; ++i) {
    const double cosine = angles[2 * i];
    const double sine = angles[2 * i + 1];
    const double a = head[i];
    const double b = head[half + i];
    store_element(target.dtype, target.data, target.first + i,
                  static_cast<float>(a * cosine - b * sine));
    store_element(target.dtype, target.data, target.first + half + i,
                  static_cast<float>(b * cosine + a * sine));
  }
}

}  // namespace

void rotate_append(const RotateAppendArgs& args) {
  const auto [heads, kv_heads, head_dim] = args.geometry;
  const std::int64_t q_width = std::int64_t{heads} * head_dim;
  const std::int64_t qkv_width = q_width + 2 * std::int64_t{kv_heads} * head_dim;
  const int used = true_rows(args.batch, args.first_row + args.rows);
  for (int r = 0; r < args.rows; ++r) {
    const int row = args.first_row + r;
    if (row >= used) {
      for (std::int64_t i = 0; i < q_width; ++i) {
        store_element(args.q_dtype, args.q, r * q_width + i, 0);
      }
      continue;
    }
    const std::int64_t limit = std::min(args.rope_positions, table_positions(args.batch));
    const std::int32_t position = position_of(args.batch, row, limit, "qkv");
    const float* angles = args.rope + std::int64_t{position} * head_dim;
    const float* q = args.qkv + r * qkv_width;
    const float* k = q + q_width;
    const float* v = k + std::int64_t{kv_heads} * head_dim;
    for (int head = 0; head < heads; ++head) {
      rotate(q + head * head_dim, angles, head_dim,
             {args.q_dtype, args.q, r * q_width + head * head_dim});
    }
    for (int head = 0; head < kv_heads; ++head) {
      const std::int64_t at = cache_index(args.geometry, pages_of(args.batch, row), position, head);
      rotate(k + head * head_dim, angles, head_dim, {args.cache.dtype, args.cache.keys, at});
      for (int i = 0; i < head_dim; ++i) {
        store_element(args.cache.dtype, args.cache.values, at + i, v[head * head_dim + i]);
      }
    }
  }
}

}  // namespace reprise::reference
