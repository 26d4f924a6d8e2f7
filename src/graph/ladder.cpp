// SPDX-License-Identifier: Apache-2.0
#include "graph/ladder.h"

#include <algorithm>

#include <fmt/format.h>

#include <reprise/graph_pool.h>

namespace reprise {

std::vector<int> default_ladder(int max_rows) {
  if (max_rows < 1) {
    throw UsageError(fmt::format("a ladder's largest size must be at least 1, got {}", max_rows));
  }
  std::vector<int> sizes;
  const auto add = [&](int size) {
    if (size < max_rows) sizes.push_back(size);
  };
  for (int size : {1, 2, 4}) add(size);
  for (int size = 8; size <= 256 && size < max_rows; size += 8) add(size);
  for (int size = 272; size < max_rows; size += 16) add(size);
  sizes.push_back(max_rows);
  return sizes;
}

std::vector<int> checked_ladder(std::vector<int> sizes, int max_rows) {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.empty() || sizes.front() < 1) {
    throw UsageError(fmt::format("a ladder needs sizes of at least 1, got {}",
                                 sizes.empty() ? "none" : std::to_string(sizes.front())));
  }
  if (max_rows != 0 && sizes.back() > max_rows) {
    throw UsageError(
        fmt::format("size {} of the ladder is above max_rows {}", sizes.back(), max_rows));
  }
  return sizes;
}

}  // namespace reprise
