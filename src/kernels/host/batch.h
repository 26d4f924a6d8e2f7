// SPDX-License-Identifier: Apache-2.0
// What the host's kernels read from the inputs of a step, with the checks a GPU cannot afford.
#pragma once

#include <string>

#include <reprise/error.h>

#include "kernels/ops.h"

namespace reprise {

/// Rows of a step that hold a token; the others are padding.
inline int true_rows(const BatchInputs& batch, int planned) noexcept {
  if (batch.row_count == nullptr) return planned;
  return *batch.row_count < planned ? *batch.row_count : planned;
}

inline bool chooses(const BatchInputs& batch, int row) noexcept {
  return batch.alive == nullptr || batch.alive[row] != 0;
}

inline const std::int32_t* pages_of(const BatchInputs& batch, int row) noexcept {
  const std::int64_t sequence = batch.sequences == nullptr ? row : batch.sequences[row];
  return batch.block_tables + sequence * batch.pages_per_sequence;
}

/// Token of row `row`, which must be in the vocabulary.
inline std::int32_t token_of(const BatchInputs& batch, int row, std::int64_t vocabulary) {
  const std::int32_t token = batch.tokens[row];
  if (token < 0 || token >= vocabulary) {
    throw DeviceError("embed: row " + std::to_string(row) + " holds token " +
                      std::to_string(token) + ", outside the vocabulary of " +
                      std::to_string(vocabulary));
  }
  return token;
}

/// Position of row `row`, which must be below `limit`.
inline std::int32_t position_of(const BatchInputs& batch, int row, std::int64_t limit,
                                const char* operation) {
  const std::int32_t position = batch.positions[row];
  if (position < 0 || position >= limit) {
    throw DeviceError(std::string(operation) + ": row " + std::to_string(row) + " is at position " +
                      std::to_string(position) + "; there is room for " + std::to_string(limit));
  }
  return position;
}

/// Positions that a row's block table can hold.
inline std::int64_t table_positions(const BatchInputs& batch) noexcept {
  return std::int64_t{batch.pages_per_sequence} * kPageTokens;
}

/// Index of the first element of a cache entry, for one key-value head.
inline std::int64_t cache_index(const HeadGeometry& geometry, const std::int32_t* pages,
                                std::int64_t position, int kv_head) noexcept {
  const std::int64_t entry =
      std::int64_t{pages[position / kPageTokens]} * kPageTokens + position % kPageTokens;
  return (entry * geometry.kv_heads + kv_head) * geometry.head_dim;
}

}  // namespace reprise
