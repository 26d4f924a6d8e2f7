// SPDX-License-Identifier: Apache-2.0
// Shape of a tensor: up to kMaxRank extents, row-major. A value type without heap memory, so that
// comparing shapes on the replay path allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <reprise/error.h>

namespace reprise {

class Shape {
 public:
  static constexpr std::size_t kMaxRank = 6;

  Shape() = default;
  /// Throws UsageError for more than kMaxRank extents or a negative one.
  Shape(std::initializer_list<std::int64_t> extents)
      : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents) {
    if (extents.size() > kMaxRank) {
      throw UsageError("a shape has at most 6 extents, got " + std::to_string(extents.size()));
    }
    for (std::int64_t extent : extents) {
      if (extent < 0) throw UsageError("a shape's extent is negative: " + std::to_string(extent));
      extents_[rank_++] = extent;
    }
  }

  std::size_t rank() const noexcept { return rank_; }
  std::int64_t operator[](std::size_t axis) const noexcept { return extents_[axis]; }
  std::span<const std::int64_t> extents() const noexcept { return {extents_.data(), rank_}; }

  /// Number of elements; 1 for a scalar (rank 0).
  std::int64_t elements() const noexcept {
    std::int64_t count = 1;
    for (std::size_t axis = 0; axis < rank_; ++axis) count *= extents_[axis];
    return count;
  }

  /// This shape with `rows` put in front: the shape of a batch of such rows.
  Shape with_rows(std::int64_t rows) const {
    std::array<std::int64_t, kMaxRank + 1> all{rows};
    for (std::size_t axis = 0; axis < rank_; ++axis) all[axis + 1] = extents_[axis];
    return Shape(std::span<const std::int64_t>(all.data(), rank_ + 1));
  }

  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (std::size_t axis = 0; axis < a.rank_; ++axis) {
      if (a.extents_[axis] != b.extents_[axis]) return false;
    }
    return true;
  }

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  std::size_t rank_ = 0;
};

/// "[4, 128]"; "[]" for a scalar.
inline std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

}  // namespace reprise
