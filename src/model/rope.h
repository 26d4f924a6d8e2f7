// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace reprise {

/// Frequency of each feature pair, [head_dim / 2], in radians per position. Formulas: Su et al.,
/// "RoFormer" (arXiv 2104.09864) for the default; position interpolation (arXiv 2306.15595) for
/// linear; Llama 3.1's smooth interpolation between kept and scaled wavelengths for llama3.
std::vector<double> rope_frequencies(const RopeConfig& rope, std::int64_t head_dim);

/// cos and sin of every position and pair, [positions, head_dim / 2, 2], as QkvDescriptor::rope
/// wants them. Computed in float64 and rounded once.
std::vector<float> rope_table(const RopeConfig& rope, std::int64_t head_dim,
                              std::int64_t positions);

}  // namespace reprise
