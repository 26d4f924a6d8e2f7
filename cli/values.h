// SPDX-License-Identifier: Apache-2.0
// Values of options, from text. Each function throws UsageError that names the option and the piece
// at fault.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace reprise::cli {

/// A decimal whole number in [low, high].
std::int64_t parse_integer(std::string_view option, std::string_view text, std::int64_t low,
                           std::int64_t high);
/// 0 … 2^64 - 1.
std::uint64_t parse_seed(std::string_view option, std::string_view text);
/// A finite number, 0 or more, that float holds.
double parse_temperature(std::string_view option, std::string_view text);
/// "1,2,3": the text between commas, not empty anywhere.
std::vector<std::string_view> split_list(std::string_view option, std::string_view text);
/// Token ids, decimal and comma-separated. Negative ones pass: the model says what its range is.
std::vector<std::int32_t> parse_ids(std::string_view option, std::string_view text);

}  // namespace reprise::cli
