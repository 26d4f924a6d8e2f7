// SPDX-License-Identifier: Apache-2.0
// Element by element access to arrays of a type known at run time. Bytes are copied, because a
// mapped checkpoint need not be aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <reprise/dtype.h>

#include "core/half.h"

namespace reprise {

/// `dtype` is one of the floating-point types.
inline float load_element(DType dtype, const void* data, std::int64_t index) noexcept {
  const auto* at = static_cast<const std::byte*>(data) + index * std::int64_t(size_of(dtype));
  if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return dtype == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
}

/// Rounds to nearest, ties to even.
inline void store_element(DType dtype, void* data, std::int64_t index, float value) noexcept {
  auto* at = static_cast<std::byte*>(data) + index * std::int64_t(size_of(dtype));
  if (dtype == DType::f32) {
    std::memcpy(at, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = dtype == DType::bf16 ? bf16_from_float(value) : f16_from_float(value);
  std::memcpy(at, &bits, sizeof bits);
}

}  // namespace reprise
