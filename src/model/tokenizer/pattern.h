// SPDX-License-Identifier: Apache-2.0
// What Split and Replace look for: a fixed string or a regular expression.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/regex.h"

namespace reprise::tokenizer {

class Pattern {
 public:
  /// A fixed string. An empty one matches nothing.
  static Pattern literal(std::string text);
  /// A regular expression; throws as Regex does.
  static Pattern regex(std::string_view pattern);

  /// The text cut into matches and the parts between them.
  std::vector<Span> find_all(std::string_view text) const;

  /// The fixed string; none for a regular expression.
  const std::optional<std::string>& literal_text() const noexcept { return literal_; }

 private:
  Pattern() = default;
  std::optional<std::string> literal_;
  std::optional<Regex> regex_;
};

/// `text` with each match replaced by `content`, taken literally.
std::string replaced(std::string_view text, const Pattern& pattern, std::string_view content);

}  // namespace reprise::tokenizer
