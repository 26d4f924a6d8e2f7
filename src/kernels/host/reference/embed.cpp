// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/batch.h"
#include "kernels/host/elements.h"
#include "kernels/host/reference/reference.h"

namespace reprise::reference {

void embed(const WeightView& table, const EmbedArgs& args, int rows) {
  const int used = true_rows(args.batch, rows);
  for (int row = 0; row < rows; ++row) {
    float* out = args.residual + row * table.cols;
    const std::byte* source =
        row < used ? table.row(token_of(args.batch, row, table.rows)) : nullptr;
    for (std::int64_t i = 0; i < table.cols; ++i) {
      out[i] = source == nullptr ? 0.0f : load_element(table.dtype, source, i);
    }
  }
}

}  // namespace reprise::reference
