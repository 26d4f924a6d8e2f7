// SPDX-License-Identifier: Apache-2.0
// Cutting of the normalized text into words: no merge ever crosses a word's border.
#pragma once

#include <memory>

#include "model/tokenizer/json_field.h"
#include "model/tokenizer/pieces.h"

namespace reprise::tokenizer {

/// Immutable and thread safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Cuts and rewrites every piece that is not an added token.
  virtual void apply(Pieces& pieces) const = 0;
};

/// Reads `pre_tokenizer` of tokenizer.json; null where there is none. Throws ModelError for a type
/// that is not supported or a malformed one.
std::unique_ptr<const PreTokenizer> read_pre_tokenizer(const JsonField& field);

}  // namespace reprise::tokenizer
