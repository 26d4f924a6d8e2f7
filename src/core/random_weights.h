// SPDX-License-Identifier: Apache-2.0
// Random weights of `random:NAME` models: element i of a tensor is a pure function of (tensor seed,
// i), so any device fills any part of any tensor in any order and every device gets the same bits.
//
// A 96-bit counter (index, seed) goes through three rounds of a 32-bit integer hash; the last two
// results give four 16-bit parts whose sum is close to normal (Irwin-Hall of four terms: mean 0,
// within ±3.46 standard deviations, excess kurtosis -0.3). The only floating-point operation is one
// multiplication of an exactly represented integer, so neither fused multiply-add nor a vector
// width can change the result. 32-bit operations only: they vectorise on AVX2 and are native on a
// GPU.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise {

/// Standard deviation of a random model's matrices and biases; its norm weights are exactly 1.
inline constexpr float kRandomStddev = 0.02f;

/// Integer hash: a bijection of 32-bit words in which every input bit reaches every output bit.
constexpr std::uint32_t mix32(std::uint32_t x) noexcept {
  x ^= x >> 16;
  x *= 0x21f0aaadu;
  x ^= x >> 15;
  x *= 0x735a2d97u;
  x ^= x >> 15;
  return x;
}

/// Seed of the tensor called `name` in a model made from `seed`: FNV-1a of the name, mixed with the
/// model's seed. Different names give unrelated sequences.
constexpr std::uint64_t tensor_seed(std::uint64_t seed, std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  hash ^= (seed + 1) * 0x9e3779b97f4a7c15u;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  hash ^= hash >> 32;
  return hash;
}

/// Factor that gives random_weight() the standard deviation `stddev`: the sum of four uniform
/// 16-bit integers has variance (2^32 - 1) / 3.
constexpr float random_scale(float stddev) noexcept {
  return static_cast<float>(static_cast<double>(stddev) / 37837.22723720648);
}

/// Element `index` of the tensor with seed `seed`; `scale` comes from random_scale().
constexpr float random_weight(std::uint64_t seed, std::uint64_t index, float scale) noexcept {
  const auto low = static_cast<std::uint32_t>(index);
  const auto high = static_cast<std::uint32_t>(index >> 32);
  const std::uint32_t x = mix32(low ^ static_cast<std::uint32_t>(seed));
  const std::uint32_t y = mix32(x + (static_cast<std::uint32_t>(seed >> 32) ^ mix32(high)));
  const std::uint32_t z = mix32(y ^ 0x9e3779b9u);
  const auto sum = static_cast<std::int32_t>((y & 0xffffu) + (y >> 16) + (z & 0xffffu) + (z >> 16));
  return static_cast<float>(sum - 131070) * scale;
}

}  // namespace reprise
