// SPDX-License-Identifier: Apache-2.0
// Cutting a text at matches, and where the matches themselves go.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "model/tokenizer/pieces.h"
#include "model/tokenizer/regex.h"

namespace reprise::tokenizer {

enum class SplitBehavior {
  removed,               ///< the matches are dropped
  isolated,              ///< each match is a part of its own
  merged_with_previous,  ///< a match ends the part before it
  merged_with_next,      ///< a match begins the part after it
  contiguous             ///< neighbouring matches are one part
};

/// The ranges that are left of `spans` (which cover a text without gaps).
std::vector<Span> split(std::vector<Span> spans, SplitBehavior behavior);

/// Spans of a text, each character a match or not by itself.
std::vector<Span> match_characters(std::string_view text,
                                   const std::function<bool(char32_t)>& matches);

/// Replaces every piece that is not a token by its parts; empty parts vanish.
void split_pieces(Pieces& pieces, const std::function<std::vector<Span>(std::string_view)>& find,
                  SplitBehavior behavior);

}  // namespace reprise::tokenizer
