// SPDX-License-Identifier: Apache-2.0
// Rewriting of the text before it is cut into words.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "model/tokenizer/json_field.h"

namespace reprise::tokenizer {

/// A text and how many of its leading bytes come from the beginning of the input (Piece::origin).
struct NormalText {
  std::string text;
  std::size_t origin = 0;
};

/// Immutable and thread safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(NormalText& text) const = 0;
};

/// Reads `normalizer` of tokenizer.json; null where there is none. Throws ModelError for a type
/// that is not supported or a malformed one.
std::unique_ptr<const Normalizer> read_normalizer(const JsonField& field);

/// Puts `prefix` in front of a text that is not empty.
void prepend(NormalText& text, std::string_view prefix);

}  // namespace reprise::tokenizer
