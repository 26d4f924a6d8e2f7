// SPDX-License-Identifier: Apache-2.0
// Element types of buffers and tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace reprise {

enum class DType : std::uint8_t { f32, f16, bf16, i32, i64, u8 };

constexpr std::size_t size_of(DType type) noexcept {
  switch (type) {
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

/// Lower-case name as used in tables and JSON: "f32", "bf16", …
constexpr std::string_view to_string(DType type) noexcept {
  switch (type) {
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
  }
  return "?";
}

/// The DType of a C++ type; only the types below have one.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};

}  // namespace reprise
