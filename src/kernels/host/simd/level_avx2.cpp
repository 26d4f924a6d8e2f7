// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/half.h"
#include "core/random_weights.h"
#include "kernels/host/simd/kernel_table.h"
#include "kernels/sampling.h"

#if defined(__x86_64__)
// Everything below is compiled for this instruction set; nothing above is.
#pragma GCC target("avx2,fma,f16c")

#include "kernels/host/simd/vector_avx2.inl"

// After the vector type they are written over; the last uses the others.
#include "kernels/host/simd/attend_body.inl"
#include "kernels/host/simd/matmul_body.inl"
#include "kernels/host/simd/pointwise_body.inl"

namespace reprise::simd {

const KernelTable& avx2_kernels() noexcept { return kTable; }

}  // namespace reprise::simd

#else

namespace reprise::simd {

const KernelTable& avx2_kernels() noexcept { return scalar_kernels(); }

}  // namespace reprise::simd

#endif
