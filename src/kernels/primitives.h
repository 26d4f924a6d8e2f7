// SPDX-License-Identifier: Apache-2.0
// The small operations that the block operations are composed of by default
// (kernels/composed_ops.h). A device implements these first and is complete; then it overrides the
// blocks it fuses. All calls enqueue on `stream`, decide nothing at run time and allocate nothing.
//
// Padding rows (at and above *row_count, where it is given) touch no memory but their own rows of
// the outputs, and these become zero: no table, position or token of theirs is trusted. `alive`
// matters to `select` only.
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
  void* out = nullptr;  ///< [rows, width]
  DType out_dtype = DType::f32;
  int rows = 0;
  int width = 0;
};

/// out = input · weightᵀ + bias, or out += … where `accumulate` is set (then out is f32).
struct MatmulArgs {
  const char* label = "matmul";  ///< the operation it belongs to, for messages; static storage
  const void* input = nullptr;   ///< [rows, weight.cols]
  DType input_dtype = DType::f32;
  const Weight* weight = nullptr;
  const Weight* bias = nullptr;  ///< null: none
  void* out = nullptr;           ///< [rows, weight.rows]
  DType out_dtype = DType::f32;
  bool accumulate = false;
  int rows = 0;
};

/// Rotates q and k by position, writes q out and k, v into the cache. Works on the rows
/// [first_row, first_row + rows) of the batch; `qkv` and `q` begin at the first of them.
struct RotateAppendArgs {
  BatchInputs batch;
  const float* qkv = nullptr;  ///< [rows, (heads + 2 kv_heads) head_dim]
  void* q = nullptr;           ///< [rows, heads head_dim]
  DType q_dtype = DType::f32;
  CacheLayer cache;
  HeadGeometry geometry;
  const float* rope = nullptr;
  std::int64_t rope_positions = 0;
  int first_row = 0;
  int rows = 0;
};

struct SiluMulArgs {
  const float* gate_up = nullptr;  ///< [rows, 2 width]: gate, then up
  void* out = nullptr;             ///< [rows, width]
  DType out_dtype = DType::f32;
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
  /// As those of Ops.
  virtual std::vector<KernelFallback> kernel_fallbacks() const { return {}; }
  virtual void set_on_note(LogSink) {}
  virtual void count_up(std::uint32_t* counter, Stream&) = 0;
  /// As Ops::read_all.
  virtual void read_all(const void* data, std::size_t bytes, std::uint32_t* sink, Stream&) = 0;
};

}  // namespace reprise
