// SPDX-License-Identifier: Apache-2.0
#include "core/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <reprise/error.h>

namespace reprise {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  if (values.empty()) throw UsageError("there is no statistic of no values; measure at least once");
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

}  // namespace

double percentile(std::span<const double> values, double percent) {
  if (!(percent > 0 && percent <= 100)) {
    throw UsageError("percentile " + std::to_string(percent) + " is not above 0 and at most 100");
  }
  const std::vector<double> order = sorted(values);
  const auto count = static_cast<double>(order.size());
  // Multiplied first: 99 · 100 / 100 is exact, 0.99 · 100 is not.
  const auto rank = static_cast<std::size_t>(std::ceil(percent * count / 100));
  return order[std::clamp<std::size_t>(rank, 1, order.size()) - 1];
}

double median(std::span<const double> values) {
  const std::vector<double> order = sorted(values);
  const std::size_t middle = order.size() / 2;
  if (order.size() % 2 == 1) return order[middle];
  return order[middle - 1] + (order[middle] - order[middle - 1]) / 2;
}

}  // namespace reprise
