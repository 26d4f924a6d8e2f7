// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/host/elements.h"
#include "kernels/host/reference/reference.h"

namespace reprise::reference {

void rms_norm(const RmsNormArgs& args, const WeightView& weight) {
  for (int row = 0; row < args.rows; ++row) {
    const std::int64_t first = std::int64_t{row} * args.width;
    double squares = 0;
    for (int i = 0; i < args.width; ++i) {
      squares += double{args.input[first + i]} * args.input[first + i];
    }
    const double scale = 1 / std::sqrt(squares / args.width + double{args.eps});
    for (int i = 0; i < args.width; ++i) {
      const double factor = load_element(weight.dtype, weight.data(), i);
      store_element(args.out_dtype, args.out, first + i,
                    static_cast<float>(args.input[first + i] * scale * factor));
    }
  }
}

}  // namespace reprise::reference
