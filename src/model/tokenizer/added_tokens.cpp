// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/utf8.h"
#include "model/tokenizer/unicode.h"

namespace reprise::tokenizer {
namespace {

AddedToken read_token(const JsonField& field) {
  AddedToken token;
  token.id = field["id"].id();
  token.content = field["content"].text();
  token.single_word = field["single_word"].flag_or(false);
  token.lstrip = field["lstrip"].flag_or(false);
  token.rstrip = field["rstrip"].flag_or(false);
  token.special = field["special"].flag_or(false);
  token.normalized = field["normalized"].flag_or(!token.special);
  return token;
}

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  std::size_t at = previous_character(text, text.size());
  return is_word(next_character(text, at));
}

bool starts_with_word(std::string_view text) {
  std::size_t at = 0;
  return !text.empty() && is_word(next_character(text, at));
}

/// Start of the white space that ends at `end`, but not before `limit`.
std::size_t space_before(std::string_view text, std::size_t end, std::size_t limit) {
  while (end > limit) {
    const std::size_t begin = previous_character(text, end);
    std::size_t at = begin;
    if (begin < limit || !is_white_space(next_character(text, at))) break;
    end = begin;
  }
  return end;
}

/// End of the run of white space at a place. Remembers the last run: a text that is all white space
/// and tokens would be read again and again otherwise.
class SpaceAfter {
 public:
  explicit SpaceAfter(std::string_view text) : text_(text) {}
  std::size_t operator()(std::size_t begin) {
    if (begin >= begin_ && begin < end_) return end_;
    std::size_t end = begin;
    while (end < text_.size()) {
      std::size_t next = end;
      if (!is_white_space(next_character(text_, next))) break;
      end = next;
    }
    begin_ = begin;
    end_ = end;
    return end;
  }

 private:
  std::string_view text_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace

AddedTokens AddedTokens::read(const JsonField& field, const Vocabulary& model,
                              const Normalizer* normalizer) {
  AddedTokens added;
  if (field.is_null()) return added;
  field.each_element([&](const JsonField& element) {
    AddedToken token = read_token(element);
    if (token.content.empty()) return;  // names nothing, and matches nothing
    const auto known = model.id(token.content);
    const auto earlier = added.extra_.id(token.content);
    const std::int32_t id = known.value_or(earlier.value_or(token.id));
    if (id != token.id) {
      element["id"].fail(fmt::format("gives token \"{}\" the id {}, but it has the id {} already",
                                     token.content, token.id, id));
    }
    if (!known && !earlier &&
        (model.token(token.id) || !added.extra_.add(token.content, token.id))) {
      element["id"].fail(fmt::format("is {}, the id of another token", token.id));
    }
    if (token.special) added.special_.insert(token.content);
    std::string sought = token.content;
    if (token.normalized && normalizer != nullptr) {
      NormalText text{token.content, 0};
      normalizer->apply(text);
      sought = std::move(text.text);
    }
    if (!sought.empty()) {
      (token.normalized ? added.normalized_ : added.raw_).add(sought, added.tokens_.size());
    }
    added.tokens_.push_back(std::move(token));
  });
  return added;
}

void AddedTokens::extract(Pieces& pieces, const TokenTrie& trie) const {
  if (trie.empty()) return;
  std::vector<Piece> result;
  result.reserve(pieces.items.size());
  for (const Piece& piece : pieces.items) {
    if (piece.is_token()) {
      result.push_back(piece);
    } else {
      extract_from(piece, trie, result);
    }
  }
  pieces.items = std::move(result);
}

void AddedTokens::extract_from(const Piece& piece, const TokenTrie& trie,
                               std::vector<Piece>& out) const {
  const std::string_view text = piece.text;
  SpaceAfter space_after(text);
  std::size_t covered = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto hit = trie.longest_at(text, at);
    if (!hit) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = hit->end;
    at = hit->end;  // also where the match is turned down
    const AddedToken& token = tokens_[hit->value];
    if (token.single_word &&
        (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end)))) {
      continue;
    }
    if (token.lstrip) begin = std::max(space_before(text, begin, covered), covered);
    if (token.rstrip) end = space_after(end);
    if (covered < begin) out.push_back(part(piece, covered, begin));
    Piece match = part(piece, std::min(begin, end), end);
    match.token = token.id;
    out.push_back(match);
    covered = end;
  }
  if (covered < text.size()) out.push_back(part(piece, covered, text.size()));
}

}  // namespace reprise::tokenizer
