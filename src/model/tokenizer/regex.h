// SPDX-License-Identifier: Apache-2.0
// A compiled regular expression over valid UTF-8.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::tokenizer {

/// Half-open range of bytes, and whether a pattern matched it.
struct Span {
  std::size_t begin;
  std::size_t end;
  bool matched;
};

/// Immutable and thread safe once built.
class Regex {
 public:
  /// `pattern` in Oniguruma's Ruby syntax (see regex_syntax.h). Throws UsageError naming the
  /// pattern where it is malformed or not supported.
  explicit Regex(std::string_view pattern);

  /// The text cut into matches and what lies between them, in order and without gaps. An empty
  /// match right after another match does not count. Throws Error where matching hits its limits.
  std::vector<Span> find_all(std::string_view text) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
  std::string pattern_;
};

}  // namespace reprise::tokenizer
