// SPDX-License-Identifier: Apache-2.0
// Products of many rows through cuBLASLt. Without a workspace and without splitting sums between
// blocks: so a row's bits depend on its own inputs only (DESIGN §3, E2) and streams don't share
// memory.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include <cublasLt.h>

#include "kernels/primitives.h"

namespace reprise::cuda_kernels {

/// What became of a product; where it was not enqueued, why not.
enum class LtAnswer : std::uint8_t { enqueued, unaligned, no_algorithm };

/// Thread safe.
class LtMatmul {
 public:
  LtMatmul();
  ~LtMatmul();
  LtMatmul(const LtMatmul&) = delete;
  LtMatmul& operator=(const LtMatmul&) = delete;

  /// Enqueues the product, unless an array is not aligned to 16 bytes or cuBLASLt has no algorithm
  /// for it (always or never for one shape). The first product of a shape chooses its algorithm,
  /// which is refused in a recording.
  LtAnswer run(const MatmulArgs& args, Stream& stream);

 private:
  struct Key {
    DType dtype;
    DType out_dtype;
    bool bias;
    std::int64_t outputs;
    std::int64_t cols;
    int rows;
    auto operator<=>(const Key&) const = default;
  };
  struct Choice {
    cublasLtMatmulDescOpaque_t operation;
    cublasLtMatrixLayoutOpaque_t weight;
    cublasLtMatrixLayoutOpaque_t input;
    cublasLtMatrixLayoutOpaque_t out;
    std::optional<cublasLtMatmulAlgo_t> algorithm;
  };

  Choice choose(const Key& key) const;
  const Choice& choice_for(const MatmulArgs& args, const Stream& stream);

  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;  ///< guards choices_, whose elements stay where they are
  std::map<Key, Choice> choices_;
};

}  // namespace reprise::cuda_kernels
