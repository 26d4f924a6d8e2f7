// SPDX-License-Identifier: Apache-2.0
// The 16-bit floating-point types as bit patterns, and their conversions to and from float.
// Rounding is to nearest, ties to even, as the hardware instructions of CPU and GPU do it; a NaN
// stays a NaN (made quiet). Plain integer arithmetic without loops, so that compilers vectorise
// calls in a loop; constexpr, so that device code may call them (nvcc: --expt-relaxed-constexpr).
#pragma once

#include <bit>
#include <cstdint>

namespace reprise {

constexpr float float_from_bf16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

constexpr std::uint16_t bf16_from_float(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<std::uint16_t>((nan ? bits | 0x400000u : rounded) >> 16);
}

constexpr float float_from_f16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude < 0x400u) {  // zero and subnormals: a multiple of 2^-24, exact in float
    const auto value = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
    return std::bit_cast<float>(sign | value);
  }
  const std::uint32_t quiet = magnitude > 0x7c00u ? 0x400000u : 0u;
  const std::uint32_t rebias = magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u;
  return std::bit_cast<float>(sign | ((magnitude << 13) + rebias) | quiet);
}

constexpr std::uint16_t f16_from_float(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000u) {  // NaN: keep the top of its payload
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520 and more round to infinity
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14 the result is a multiple of 2^-24, which is the last place of 0.5: adding 0.5
    // makes the addition do the rounding.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    half = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace reprise
