// SPDX-License-Identifier: Apache-2.0
// Statistics of measured times. Pure functions, thread safe.
#pragma once

#include <span>

namespace reprise {

/// The smallest value that at least `percent` of all values do not exceed (nearest rank): always
/// one that was measured, so with few values a high percentile is the largest. Throws UsageError
/// for no values, or a percentage that is not in (0, 100].
double percentile(std::span<const double> values, double percent);

/// The middle value, or the mean of the two in the middle. Throws UsageError for no values.
double median(std::span<const double> values);

}  // namespace reprise
