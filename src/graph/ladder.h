// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace reprise {

/// Sorted, without doubles; throws UsageError for a size below 1 or above max_rows (0: no limit).
std::vector<int> checked_ladder(std::vector<int> sizes, int max_rows);

}  // namespace reprise
