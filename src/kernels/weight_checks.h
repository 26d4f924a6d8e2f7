// SPDX-License-Identifier: Apache-2.0
// What every device refuses when it loads or makes a weight.
#pragma once

#include <cstdint>
#include <span>

#include "core/host_tensor.h"
#include "kernels/weight.h"

namespace reprise {

/// What a list of parts amounts to.
struct PartTotals {
  std::int64_t elements = 0;
  bool same_type = true;  ///< all parts have the first one's dtype
};

/// Throws UsageError naming the tensor that cannot be part of a weight for `use`.
PartTotals check_parts(std::span<const HostTensor> parts, WeightUse use);

/// Returns the rows of all parts together; throws UsageError naming the part at fault.
std::int64_t check_random(std::span<const RandomPart> parts, std::int64_t cols, DType dtype);

}  // namespace reprise
