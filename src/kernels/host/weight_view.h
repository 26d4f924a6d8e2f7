// SPDX-License-Identifier: Apache-2.0
// A weight as a recorded task holds it: by value and without an allocation.
#pragma once

#include <array>
#include <cstddef>

#include <reprise/error.h>

#include "kernels/weight.h"

namespace reprise {

struct WeightView {
  static constexpr std::size_t kMaxParts = 4;

  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::array<WeightPart, kMaxParts> parts{};

  WeightView() = default;
  explicit WeightView(const Weight& weight)
      : dtype(weight.dtype), rows(weight.rows), cols(weight.cols) {
    if (weight.parts.size() > kMaxParts) {
      throw UsageError("weight of " + std::to_string(weight.parts.size()) + " parts; at most " +
                       std::to_string(kMaxParts) + " tensors can be stacked");
    }
    for (std::size_t i = 0; i < weight.parts.size(); ++i) parts[i] = weight.parts[i];
  }

  explicit operator bool() const noexcept { return rows > 0; }

  /// Start of row `index`, which must exist.
  const std::byte* row(std::int64_t index) const noexcept {
    std::size_t part = 0;
    while (index >= parts[part].rows) index -= parts[part++].rows;
    return static_cast<const std::byte*>(parts[part].data) +
           index * cols * static_cast<std::int64_t>(size_of(dtype));
  }
  /// Of a vector, which lies in one piece on the host.
  const std::byte* data() const noexcept { return static_cast<const std::byte*>(parts[0].data); }
};

/// Null gives an empty view.
inline WeightView view_of(const Weight* weight) {
  return weight == nullptr ? WeightView() : WeightView(*weight);
}

}  // namespace reprise
