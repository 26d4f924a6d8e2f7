// SPDX-License-Identifier: Apache-2.0
#include "kernels/composed_ops.h"

namespace reprise {

bool simd_level_usable(SimdLevel level) noexcept {
  return level == SimdLevel::scalar || level == SimdLevel::best;
}

// Until the vectorised kernels stand, the plain ones answer for them.
std::unique_ptr<Primitives> make_simd_primitives(Device& device, SimdLevel) {
  return make_reference_primitives(device);
}

}  // namespace reprise
