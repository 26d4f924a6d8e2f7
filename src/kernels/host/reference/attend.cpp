// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/host/batch.h"
#include "kernels/host/elements.h"
#include "kernels/host/reference/reference.h"

namespace reprise::reference {
namespace {

/// softmax(scores), in place.
void normalise(std::vector<double>& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
}

}  // namespace

void attend(const AttendDescriptor& descriptor, const AttendArgs& args, int rows,
            DType activation) {
  const auto [heads, kv_heads, head_dim] = descriptor.geometry;
  const int used = true_rows(args.batch, rows);
  for (int row = 0; row < rows; ++row) {
    for (int head = 0; head < heads; ++head) {
      const std::int64_t q = (std::int64_t{row} * heads + head) * head_dim;
      if (row >= used) {
        for (int i = 0; i < head_dim; ++i) store_element(activation, args.out, q + i, 0);
        continue;
      }
      const std::int32_t position =
          position_of(args.batch, row, table_positions(args.batch), "attend");
      const int first = descriptor.window == 0 ? 0 : std::max(0, position + 1 - descriptor.window);
      const std::int32_t* pages = pages_of(args.batch, row);
      const int kv_head = head / (heads / kv_heads);

      std::vector<double> scores;
      for (int entry = first; entry <= position; ++entry) {
        const std::int64_t k = cache_index(descriptor.geometry, pages, entry, kv_head);
        double dot = 0;
        for (int i = 0; i < head_dim; ++i) {
          dot += double{load_element(activation, args.q, q + i)} *
                 load_element(args.cache.dtype, args.cache.keys, k + i);
        }
        scores.push_back(dot * descriptor.scale);
      }
      normalise(scores);
      for (int i = 0; i < head_dim; ++i) {
        double sum = 0;
        for (int entry = first; entry <= position; ++entry) {
          const std::int64_t v = cache_index(descriptor.geometry, pages, entry, kv_head);
          sum += scores[static_cast<std::size_t>(entry - first)] *
                 load_element(args.cache.dtype, args.cache.values, v + i);
        }
        store_element(activation, args.out, q + i, static_cast<float>(sum));
      }
    }
  }
}

}  // namespace reprise::reference
