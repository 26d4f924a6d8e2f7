// SPDX-License-Identifier: Apache-2.0
// Weights as the device holds them. How they lie in memory is the device's business: the host keeps
// the mapped checkpoint, a GPU may repack into the order its kernels stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <reprise/dtype.h>

namespace reprise {

enum class WeightUse : std::uint8_t {
  matrix,                ///< [rows (outputs), cols (inputs)], read by matrix products
  vector,                ///< norms and biases: rows = 1
  embedding,             ///< [rows (tokens), cols], gathered by row
  embedding_and_matrix,  ///< both: tied embeddings
};

/// One tensor of the checkpoint inside a weight.
struct WeightPart {
  const void* data = nullptr;
  std::int64_t rows = 0;  ///< for vectors, its length
};

/// Tensors with equal columns stacked by rows (q, k, v; gate, up); most have one part. Shared by
/// all steps of a model; immutable once loaded.
struct Weight {
  DType dtype = DType::f32;
  std::int64_t rows = 0;  ///< of all parts together; for vectors, 1
  std::int64_t cols = 0;  ///< for vectors, the total length
  std::vector<WeightPart> parts;
  std::shared_ptr<const void> owner;

  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(rows * cols) * size_of(dtype);
  }
};

/// A tensor that is made on the device from a seed instead of read (core/random_weights.h).
struct RandomPart {
  std::string name;       ///< the checkpoint's name for it; gives each tensor its own seed
  std::int64_t rows = 0;  ///< its elements are rows · cols; for vectors cols is 1
};

}  // namespace reprise
