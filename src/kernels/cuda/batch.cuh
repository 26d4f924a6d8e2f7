// SPDX-License-Identifier: Apache-2.0
// What kernels read from the inputs of a step. A GPU cannot throw: a token or position out of range
// leads to no access outside the arrays, and the row's results become NaN, which shows.
#pragma once

#include <cstdint>

#include "kernels/ops.h"

namespace reprise::cuda_kernels {

__device__ __forceinline__ int true_rows(const BatchInputs& batch, int planned) {
  return batch.row_count == nullptr ? planned : min(*batch.row_count, planned);
}

__device__ __forceinline__ const std::int32_t* pages_of(const BatchInputs& batch, int row) {
  const std::int64_t sequence = batch.sequences == nullptr ? row : batch.sequences[row];
  return batch.block_tables + sequence * batch.pages_per_sequence;
}

__device__ __forceinline__ std::int64_t table_positions(const BatchInputs& batch) {
  return std::int64_t{batch.pages_per_sequence} * kPageTokens;
}

/// Number of a cache entry among all of the layer.
__device__ __forceinline__ std::int64_t entry_of(const std::int32_t* pages, int position) {
  return std::int64_t{pages[position / kPageTokens]} * kPageTokens + position % kPageTokens;
}

__device__ __forceinline__ float not_a_number() { return __int_as_float(0x7fffffff); }

}  // namespace reprise::cuda_kernels
