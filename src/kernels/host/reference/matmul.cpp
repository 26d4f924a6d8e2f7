// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/elements.h"
#include "kernels/host/reference/reference.h"

namespace reprise::reference {

void matmul(const MatmulArgs& args, const WeightView& weight, const WeightView& bias) {
  for (std::int64_t output = 0; output < weight.rows; ++output) {
    const std::byte* factors = weight.row(output);
    for (int row = 0; row < args.rows; ++row) {
      double sum = bias ? load_element(bias.dtype, bias.data(), output) : 0;
      for (std::int64_t k = 0; k < weight.cols; ++k) {
        sum += double{load_element(args.input_dtype, args.input, row * weight.cols + k)} *
               load_element(weight.dtype, factors, k);
      }
      const std::int64_t at = row * weight.rows + output;
      if (args.accumulate) sum += load_element(args.out_dtype, args.out, at);
      store_element(args.out_dtype, args.out, at, static_cast<float>(sum));
    }
  }
}

}  // namespace reprise::reference
