// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/pattern.h"

#include <utility>

namespace reprise::tokenizer {

Pattern Pattern::literal(std::string text) {
  Pattern pattern;
  pattern.literal_ = std::move(text);
  return pattern;
}

Pattern Pattern::regex(std::string_view text) {
  Pattern pattern;
  pattern.regex_.emplace(text);
  return pattern;
}

std::vector<Span> Pattern::find_all(std::string_view text) const {
  if (regex_) return regex_->find_all(text);
  std::vector<Span> spans;
  std::size_t covered = 0;
  while (!literal_->empty()) {
    const std::size_t begin = text.find(*literal_, covered);
    if (begin == std::string_view::npos) break;
    if (covered < begin) spans.push_back({covered, begin, false});
    covered = begin + literal_->size();
    spans.push_back({begin, covered, true});
  }
  if (covered < text.size()) spans.push_back({covered, text.size(), false});
  return spans;
}

std::string replaced(std::string_view text, const Pattern& pattern, std::string_view content) {
  std::string result;
  result.reserve(text.size());
  for (const Span& span : pattern.find_all(text)) {
    result += span.matched ? content : text.substr(span.begin, span.end - span.begin);
  }
  return result;
}

}  // namespace reprise::tokenizer
