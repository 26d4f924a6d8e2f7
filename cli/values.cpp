// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include <reprise/error.h>

#include "core/text.h"

namespace reprise::cli {
namespace {

enum class Read : std::uint8_t { good, malformed, too_large };

template <class Number>
Read read_number(std::string_view text, Number& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault == std::errc::invalid_argument || end != text.data() + text.size()) {
    return Read::malformed;
  }
  return fault == std::errc() ? Read::good : Read::too_large;
}

}  // namespace

std::int64_t parse_integer(std::string_view option, std::string_view text, std::int64_t low,
                           std::int64_t high) {
  std::int64_t number = 0;
  const Read read = read_number(text, number);
  if (read == Read::malformed) {
    throw UsageError(fmt::format("{}: {} is not a whole number; give one from {} to {}", option,
                                 in_quotes(text), low, high));
  }
  if (read == Read::too_large || number < low || number > high) {
    throw UsageError(fmt::format("{}: {} is out of range; give a whole number from {} to {}",
                                 option, printable(text), low, high));
  }
  return number;
}

std::uint64_t parse_seed(std::string_view option, std::string_view text) {
  std::uint64_t seed = 0;
  if (read_number(text, seed) == Read::good) return seed;
  throw UsageError(fmt::format("{}: {} is no seed; give a whole number from 0 to {}", option,
                               in_quotes(text), std::numeric_limits<std::uint64_t>::max()));
}

double parse_temperature(std::string_view option, std::string_view text) {
  double number = 0;
  const bool good = read_number(text, number) == Read::good && std::isfinite(number);
  if (good && number >= 0 && number <= std::numeric_limits<float>::max()) return number;
  throw UsageError(
      fmt::format("{}: {} is no temperature; give a finite number, 0 (the likeliest token always) "
                  "or more",
                  option, in_quotes(text)));
}

std::vector<std::string_view> split_list(std::string_view option, std::string_view text) {
  std::vector<std::string_view> pieces;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    pieces.push_back(text.substr(start, end - start));
    if (pieces.back().empty()) {
      throw UsageError(fmt::format("{}: item {} of {} is empty; separate items by single commas",
                                   option, pieces.size(), in_quotes(text)));
    }
    start = end + 1;
  }
  return pieces;
}

std::vector<std::int32_t> parse_ids(std::string_view option, std::string_view text) {
  std::vector<std::int32_t> ids;
  for (const std::string_view piece : split_list(option, text)) {
    std::int32_t id = 0;
    switch (read_number(piece, id)) {
      case Read::good:
        ids.push_back(id);
        break;
      case Read::malformed:
        throw UsageError(fmt::format(
            "{}: {} is no token id; give decimal numbers separated by commas, such as 1,15,27",
            option, in_quotes(piece)));
      case Read::too_large:
        throw UsageError(fmt::format("{}: token {} is out of range of any vocabulary", option,
                                     printable(piece)));
    }
  }
  return ids;
}

}  // namespace reprise::cli
