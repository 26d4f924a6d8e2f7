// SPDX-License-Identifier: Apache-2.0
// The small operations that the block operations are composed of by default
// (kernels/composed_ops.h). A device implements these first and is complete; then it overrides the
// blocks it fuses. All calls enqueue on `stream`, decide nothing at run time and allocate nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/ops.h"

namespace reprise {

struct RmsNormArgs {
  const float* input = nullptr;  ///< [rows, width]
  const Weight* weight = nullptr;
  float eps = 0;
  void* out = nullptr;  ///< activation type [rows, width]
  int rows = 0;
  int width = 0;
};

/// out = input · weightᵀ + bias, or out += … where `accumulate` is set (then out is f32).
struct MatmulArgs {
  const void* input = nullptr;  ///< activation type [rows, weight.cols]
  const Weight* weight = nullptr;
  const Weight* bias = nullptr;  ///< null: none
  void* out = nullptr;           ///< [rows, weight.rows]
  DType out_dtype = DType::f32;
  bool accumulate = false;
  int rows = 0;
};

/// Rotates q and k by position, writes q out and k, v into the cache.
struct RotateAppendArgs {
  BatchInputs batch;
  const float* qkv = nullptr;  ///< [rows, (heads + 2 kv_heads) head_dim]
  void* q = nullptr;           ///< activation type [rows, heads head_dim]
  CacheLayer cache;
  HeadGeometry geometry;
  const float* rope = nullptr;
  int rows = 0;
};

struct SiluMulArgs {
  const float* gate_up = nullptr;  ///< [rows, 2 width]: gate, then up
  void* out = nullptr;             ///< activation type [rows, width]
  int rows = 0;
  int width = 0;
};

class Primitives {
 public:
  virtual ~Primitives() = default;
  virtual DType activation_dtype(DType weights) const = 0;
  virtual DType cache_dtype(DType weights) const = 0;
  virtual Weight load(std::span<const HostTensor> parts, WeightUse use, Stream& stream) = 0;
  virtual Weight random(std::span<const RandomPart> parts, std::int64_t cols, DType dtype,
                        std::uint64_t seed, float deviation, WeightUse use, Stream& stream) = 0;

  virtual void embed(const EmbedDescriptor&, const EmbedArgs&, int rows, Stream&) = 0;
  virtual void rms_norm(const RmsNormArgs&, Stream&) = 0;
  virtual void matmul(const MatmulArgs&, Stream&) = 0;
  virtual void rotate_append(const RotateAppendArgs&, Stream&) = 0;
  virtual void attend(const AttendDescriptor&, const AttendArgs&, int rows, Stream&) = 0;
  virtual void silu_mul(const SiluMulArgs&, Stream&) = 0;
  virtual void select(const SelectDescriptor&, const SelectArgs&, int rows, Stream&) = 0;
};

}  // namespace reprise
