// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/split.h"

#include <algorithm>
#include <utility>

#include "core/utf8.h"

namespace reprise::tokenizer {
namespace {

/// Joins each span to the one before it in the walk where `joins` says so.
template <class Joins>
void join(std::vector<Span>& spans, Joins joins) {
  std::vector<Span> result;
  result.reserve(spans.size());
  bool previous_matched = false;
  for (const Span& span : spans) {
    if (!result.empty() && joins(span.matched, previous_matched)) {
      result.back().begin = std::min(result.back().begin, span.begin);
      result.back().end = std::max(result.back().end, span.end);
    } else {
      result.push_back(span);
    }
    previous_matched = span.matched;
  }
  spans = std::move(result);
}

}  // namespace

std::vector<Span> split(std::vector<Span> spans, SplitBehavior behavior) {
  // Only the first of several neighbouring matches joins the text beside it.
  const auto first_match = [](bool matched, bool before) { return matched && !before; };
  switch (behavior) {
    case SplitBehavior::isolated:
      break;
    case SplitBehavior::removed:
      std::erase_if(spans, [](const Span& span) { return span.matched; });
      break;
    case SplitBehavior::contiguous:
      join(spans, [](bool matched, bool before) { return matched == before; });
      break;
    case SplitBehavior::merged_with_previous:
      join(spans, first_match);
      break;
    case SplitBehavior::merged_with_next:
      std::reverse(spans.begin(), spans.end());
      join(spans, first_match);
      std::reverse(spans.begin(), spans.end());
      break;
  }
  return spans;
}

std::vector<Span> match_characters(std::string_view text,
                                   const std::function<bool(char32_t)>& matches) {
  std::vector<Span> spans;
  std::size_t covered = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (!matches(next_character(text, at))) continue;
    if (covered < begin) spans.push_back({covered, begin, false});
    spans.push_back({begin, at, true});
    covered = at;
  }
  if (covered < text.size()) spans.push_back({covered, text.size(), false});
  return spans;
}

void split_pieces(Pieces& pieces, const std::function<std::vector<Span>(std::string_view)>& find,
                  SplitBehavior behavior) {
  std::vector<Piece> result;
  result.reserve(pieces.items.size());
  for (const Piece& piece : pieces.items) {
    if (piece.is_token()) {
      result.push_back(piece);
      continue;
    }
    for (const Span& span : split(find(piece.text), behavior)) {
      if (span.begin < span.end) result.push_back(part(piece, span.begin, span.end));
    }
  }
  pieces.items = std::move(result);
}

}  // namespace reprise::tokenizer
