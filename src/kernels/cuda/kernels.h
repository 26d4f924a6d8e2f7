// SPDX-License-Identifier: Apache-2.0
// One function per primitive, each in its own .cu: enqueues, decides by shapes only, allocates
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/primitives.h"

namespace reprise::cuda_kernels {

void embed(const EmbedDescriptor& descriptor, const EmbedArgs& args, int rows,
           const Target& target);
void rms_norm(const RmsNormArgs& args, const Target& target);
void rotate_append(const RotateAppendArgs& args, const Target& target);
void attend(const AttendDescriptor& descriptor, const AttendArgs& args, int rows,
            const Target& target);
/// The same for heads too wide for attend(), which hands over to it.
void attend_wide(const AttendDescriptor& descriptor, const AttendArgs& args, int rows,
                 const Target& target);
void silu_mul(const SiluMulArgs& args, const Target& target);
void select(const SelectDescriptor& descriptor, const SelectArgs& args, int rows,
            const Target& target);
void count_up(std::uint32_t* counter, Stream& stream);
/// True where this folder was compiled for targets whose kernels can wait (pdl.cuh).
bool compiled_to_wait();
/// True where some warps of the kernels sleep (pdl.cuh).
bool jittered();
void read_all(const void* data, std::size_t bytes, std::uint32_t* sink, Stream& stream);

/// Rows [1, kFamilyRows] go through kernels of one order of summation, so that these buckets agree
/// bitwise (DESIGN §3, E3).
inline constexpr int kFamilyRows = 64;
/// The own kernels, for any number of rows. The first takes 16-bit types and tensor cores.
void matmul_mma(const MatmulArgs& args, const Target& target);
void matmul_f32(const MatmulArgs& args, const Target& target);

/// Element i of `out` becomes random_weight(tensor_seed, i, scale), rounded to `dtype` and stored
/// in `stored`, which is `dtype` or f32.
void fill_random(void* out, DType dtype, DType stored, std::int64_t elements,
                 std::uint64_t tensor_seed, float scale, Stream& stream);

/// What a matmul refuses: types that don't fit each other, weights of another maker.
void check_matmul(const MatmulArgs& args);
/// The elements of a norm or bias, null for none; refuses one that is not f32.
const float* vector_data(const Weight* weight, const char* what);

}  // namespace reprise::cuda_kernels
