// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/host/batch.h"
#include "kernels/host/reference/reference.h"
#include "kernels/sampling.h"

namespace reprise::reference {
namespace {

/// The lowest id with the largest value of `score`; NaN loses to everything.
template <class Score>
std::int32_t best(int vocabulary, const Score& score) {
  std::int32_t choice = -1;
  double largest = 0;
  for (std::int32_t token = 0; token < vocabulary; ++token) {
    const double value = score(token);
    if (std::isnan(value) || (choice >= 0 && !(value > largest))) continue;
    choice = token;
    largest = value;
  }
  return choice < 0 ? 0 : choice;
}

}  // namespace

void select(const SelectDescriptor& descriptor, const SelectArgs& args, int rows) {
  const int used = true_rows(args.batch, rows);
  for (int row = 0; row < used; ++row) {
    if (!chooses(args.batch, row)) continue;
    const float* logits = args.logits + std::int64_t{row} * descriptor.vocabulary;
    const auto greedy =
        best(descriptor.vocabulary, [&](std::int32_t token) { return double{logits[token]}; });
    const double largest = logits[greedy];
    const double temperature =
        args.batch.temperatures == nullptr ? 0 : args.batch.temperatures[row];
    if (!(temperature > 0) || !std::isfinite(largest)) {
      args.next[row] = greedy;
      continue;
    }
    const auto key = sampling_key(args.batch.seeds == nullptr ? 0 : args.batch.seeds[row],
                                  args.batch.positions[row]);
    args.next[row] = best(descriptor.vocabulary, [&](std::int32_t token) {
      return sampling_score<double>(logits[token], largest, temperature,
                                    sampling_uniform(key, token));
    });
  }
}

}  // namespace reprise::reference
