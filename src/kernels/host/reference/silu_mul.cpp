// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/host/elements.h"
#include "kernels/host/reference/reference.h"

namespace reprise::reference {

void silu_mul(const SiluMulArgs& args) {
  for (int row = 0; row < args.rows; ++row) {
    const float* gate = args.gate_up + 2 * std::int64_t{row} * args.width;
    const float* up = gate + args.width;
    for (int i = 0; i < args.width; ++i) {
      const double value = gate[i] / (1 + std::exp(-double{gate[i]})) * up[i];
      store_element(args.out_dtype, args.out, std::int64_t{row} * args.width + i,
                    static_cast<float>(value));
    }
  }
}

}  // namespace reprise::reference
