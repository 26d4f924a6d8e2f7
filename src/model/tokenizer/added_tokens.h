// SPDX-License-Identifier: Apache-2.0
// Tokens that are found in the text as they stand, before and after it is normalized, and never
// cut. Special ones can be left out when decoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/tokenizer/json_field.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/pieces.h"
#include "model/tokenizer/token_trie.h"
#include "model/tokenizer/vocabulary.h"

namespace reprise::tokenizer {

struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool single_word = false;  ///< no word character may stand beside it
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space after it
  bool normalized = false;   ///< looked for in the normalized text, itself normalized
  bool special = false;
};

/// Immutable and thread safe once read.
class AddedTokens {
 public:
  /// Reads `added_tokens` of tokenizer.json. A token that `model` has too must have the same id;
  /// any other takes the id the file gives it, which must be free. Throws ModelError otherwise.
  static AddedTokens read(const JsonField& field, const Vocabulary& model,
                          const Normalizer* normalizer);

  /// Tokens that the model's vocabulary lacks, and their ids.
  const Vocabulary& vocabulary() const noexcept { return extra_; }

  bool is_special(std::string_view token) const { return special_.contains(std::string(token)); }

  /// Cuts the tokens that are not normalized out of the pieces.
  void extract_raw(Pieces& pieces) const { extract(pieces, raw_); }
  /// Cuts the normalized tokens out of pieces that have been normalized.
  void extract_normalized(Pieces& pieces) const { extract(pieces, normalized_); }

 private:
  void extract(Pieces& pieces, const TokenTrie& trie) const;
  void extract_from(const Piece& piece, const TokenTrie& trie, std::vector<Piece>& out) const;

  std::vector<AddedToken> tokens_;
  Vocabulary extra_;
  std::unordered_set<std::string> special_;
  TokenTrie raw_;
  TokenTrie normalized_;
};

}  // namespace reprise::tokenizer
