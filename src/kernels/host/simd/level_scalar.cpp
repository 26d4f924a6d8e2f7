// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/half.h"
#include "core/random_weights.h"
#include "kernels/host/simd/kernel_table.h"
#include "kernels/host/simd/vector_scalar.inl"
#include "kernels/sampling.h"

// After the vector type they are written over; the last uses the others.
#include "kernels/host/simd/attend_body.inl"
#include "kernels/host/simd/matmul_body.inl"
#include "kernels/host/simd/pointwise_body.inl"

namespace reprise::simd {

const KernelTable& scalar_kernels() noexcept { return kTable; }

}  // namespace reprise::simd
