// SPDX-License-Identifier: Apache-2.0
// The vectorised kernels of one instruction set. Each works on a part of its operation, so that the
// caller can share it out among threads; no part's results depend on how the cut was made.
//
// The bodies are written once, over a vector type `V` (vector_*.inl), and compiled once per level
// by level_*.cpp under a target pragma; hence .inl, for they do not stand alone. They live in
// unnamed namespaces and include nothing, so that no function compiled for a wide instruction set
// can be linked into code that runs everywhere.
#pragma once

#include <cstdint>

#include "kernels/host/weight_view.h"
#include "kernels/host/weights.h"
#include "kernels/primitives.h"

namespace reprise::simd {

/// out = input · weightᵀ + bias, or out +=; everything but the weight is f32.
struct MatmulTask {
  const float* input = nullptr;
  WeightView weight;
  const float* bias = nullptr;
  float* out = nullptr;
  bool accumulate = false;
  int rows = 0;
};

/// Attention of rows at consecutive positions of one sequence (mostly one row, but a prompt's rows
/// read the same keys); `group` query heads share a key-value head.
struct AttendTask {
  static constexpr int kMaxRows = 8;

  const float* q = nullptr;  ///< [group, head_dim], rows `row_stride` apart
  float* out = nullptr;      ///< as q
  const float* keys = nullptr;
  const float* values = nullptr;
  const std::int32_t* pages = nullptr;
  std::int64_t row_stride = 0;
  int rows = 0;
  int group = 0;
  int head_dim = 0;
  int entry_stride = 0;  ///< elements from one cache entry to the next
  int position = 0;      ///< of the first row
  int window = 0;        ///< entries a row sees, itself included; 0: all
  float scale = 0;
};

struct Choice {
  float score = 0;
  std::int32_t token = -1;  ///< -1: every score was NaN
};

struct KernelTable {
  /// Outputs [first, last) of all rows.
  void (*matmul)(const MatmulTask& task, std::int64_t first, std::int64_t last);
  void (*attend)(const AttendTask& task);
  void (*rms_norm)(const float* input, const float* weight, float eps, float* out, int width);
  void (*silu_mul)(const float* gate, const float* up, float* out, int width);
  void (*convert)(DType dtype, const void* source, float* out, std::int64_t count);
  void (*rotate)(const float* head, const float* angles, float* out, int head_dim);
  /// Lowest token with the largest logit.
  Choice (*largest)(const float* logits, int vocabulary);
  /// Best of the tokens [first, last) by sampling_score().
  Choice (*sample)(const float* logits, float largest, float temperature, std::uint64_t key,
                   int first, int last);
  RandomFill fill_random;
};

const KernelTable& scalar_kernels() noexcept;
const KernelTable& avx2_kernels() noexcept;
const KernelTable& avx512_kernels() noexcept;

}  // namespace reprise::simd
