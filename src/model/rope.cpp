// SPDX-License-Identifier: Apache-2.0
#include "model/rope.h"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace reprise {
namespace {

double llama3_frequency(double frequency, const RopeConfig& rope) {
  const auto original = static_cast<double>(rope.original_max_positions);
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double longest_kept = original / rope.high_freq_factor;
  const double shortest_scaled = original / rope.low_freq_factor;
  if (wavelength < longest_kept) return frequency;
  if (wavelength > shortest_scaled) return frequency / rope.factor;
  const double smooth = (original / wavelength - rope.low_freq_factor) /
                        (rope.high_freq_factor - rope.low_freq_factor);
  return (1 - smooth) * frequency / rope.factor + smooth * frequency;
}

}  // namespace

std::vector<double> rope_frequencies(const RopeConfig& rope, std::int64_t head_dim) {
  std::vector<double> frequencies(static_cast<std::size_t>(head_dim / 2));
  for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
    const double exponent = 2 * static_cast<double>(pair) / static_cast<double>(head_dim);
    double frequency = std::pow(rope.theta, -exponent);
    if (rope.type == RopeConfig::Type::linear) frequency /= rope.factor;
    if (rope.type == RopeConfig::Type::llama3) frequency = llama3_frequency(frequency, rope);
    frequencies[pair] = frequency;
  }
  return frequencies;
}

std::vector<float> rope_table(const RopeConfig& rope, std::int64_t head_dim,
                              std::int64_t positions) {
  const std::vector<double> frequencies = rope_frequencies(rope, head_dim);
  std::vector<float> table;
  table.reserve(static_cast<std::size_t>(positions) * frequencies.size() * 2);
  for (std::int64_t position = 0; position < positions; ++position) {
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      table.push_back(static_cast<float>(std::cos(angle)));
      table.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return table;
}

}  // namespace reprise
