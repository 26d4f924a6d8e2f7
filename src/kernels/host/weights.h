// SPDX-License-Identifier: Apache-2.0
// How the host device holds weights: matrices stay where they are (usually in a mapped file) in
// their own type; vectors become one f32 array; parts of different types become f32.
#pragma once

#include <span>

#include <reprise/device.h>

#include "core/host_tensor.h"
#include "kernels/weight.h"

namespace reprise {

Weight load_host_weight(std::span<const HostTensor> parts, WeightUse use, Stream& stream);

/// Fills a half-open range of elements of a tensor with generated values of type `dtype`.
using RandomFill = void (*)(DType dtype, void* tensor, std::uint64_t begin, std::uint64_t end,
                            std::uint64_t tensor_seed, float scale);
void fill_random(DType dtype, void* tensor, std::uint64_t begin, std::uint64_t end,
                 std::uint64_t tensor_seed, float scale);

Weight random_host_weight(std::span<const RandomPart> parts, std::int64_t cols, DType dtype,
                          std::uint64_t seed, float deviation, WeightUse use, Stream& stream,
                          RandomFill fill);

}  // namespace reprise
