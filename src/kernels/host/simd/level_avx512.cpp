// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
// g++ 12 takes the deliberately undefined operands of its own intrinsics for mistakes.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#endif

#include "core/half.h"
#include "core/random_weights.h"
#include "kernels/host/simd/kernel_table.h"
#include "kernels/sampling.h"

#if defined(__x86_64__)
// Everything below is compiled for this instruction set; nothing above is.
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,prefer-vector-width=512")

#include "kernels/host/simd/vector_avx512.inl"

// After the vector type they are written over; the last uses the others.
#include "kernels/host/simd/attend_body.inl"
#include "kernels/host/simd/matmul_body.inl"
#include "kernels/host/simd/pointwise_body.inl"

namespace reprise::simd {

const KernelTable& avx512_kernels() noexcept { return kTable; }

}  // namespace reprise::simd

#else

namespace reprise::simd {

const KernelTable& avx512_kernels() noexcept { return scalar_kernels(); }

}  // namespace reprise::simd

#endif
