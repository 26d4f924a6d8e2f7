// SPDX-License-Identifier: Apache-2.0
// The random choice of `select`, shared by all devices. Pure functions, constexpr or templates so
// that device code may call them (nvcc: --expt-relaxed-constexpr).
//
// The draw of (seed, position, token) is a counter-based one: no state, so a row's choice depends
// on nothing but its own seed, position and logits. It goes through two rounds of the splitmix64
// finaliser, one for the row's key and one per token.
//
// Choice: the token with the largest (logit - largest logit) / temperature + Gumbel noise, which is
// a draw from softmax(logits / temperature). Subtracting the largest first keeps tiny temperatures
// from overflowing. The lowest id wins among equals; a NaN logit is never chosen unless all are
// NaN, then the choice is 0. Temperatures that are not above 0, and rows whose largest logit is
// infinite, choose greedily.
#pragma once

#include <cmath>
#include <cstdint>

namespace reprise {

constexpr std::uint64_t sampling_mix(std::uint64_t x) noexcept {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  x ^= x >> 31;
  return x;
}

/// What all tokens of a row share.
constexpr std::uint64_t sampling_key(std::int64_t seed, std::int32_t position) noexcept {
  const std::uint64_t start = sampling_mix(static_cast<std::uint64_t>(seed) + 0x9e3779b97f4a7c15u);
  return sampling_mix(start + (static_cast<std::uint32_t>(position) + 1u) * 0xd1342543de82ef95u);
}

/// Uniform in (0, 1), never 0 or 1. Of 40 bits, so that small values, which decide who wins, have
/// full relative precision in spite of the 24 bits of a float.
constexpr float sampling_uniform(std::uint64_t key, std::int32_t token) noexcept {
  const std::uint64_t bits =
      sampling_mix(key + (static_cast<std::uint32_t>(token) + 1u) * 0x9e3779b97f4a7c15u);
  const float value = static_cast<float>((bits >> 24) | 1u) * 0x1p-40f;
  return value < 1.0f ? value : 0x1.fffffep-1f;
}

/// -log(E), E exponentially distributed by inversion: small uniforms give large noise.
template <class Real>
constexpr Real gumbel(Real uniform) noexcept {
  using std::log;
  using std::log1p;
  return -log(-log1p(-uniform));
}

/// What the tokens of a row compete with.
template <class Real>
constexpr Real sampling_score(Real logit, Real largest, Real temperature, float uniform) noexcept {
  return (logit - largest) / temperature + gumbel(static_cast<Real>(uniform));
}

}  // namespace reprise
