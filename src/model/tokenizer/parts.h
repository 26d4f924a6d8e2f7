// SPDX-License-Identifier: Apache-2.0
// What a Tokenizer is made of.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/bpe.h"
#include "model/tokenizer/decoder.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/post_processor.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/tokenizer.h"

namespace reprise {

struct Tokenizer::Parts {
  std::unique_ptr<const tokenizer::Normalizer> normalizer;       // may be null
  std::unique_ptr<const tokenizer::PreTokenizer> pre_tokenizer;  // may be null
  tokenizer::Bpe model;
  tokenizer::AddedTokens added;
  tokenizer::PostProcessor post_processor;
  tokenizer::Decoder decoder;

  std::optional<std::string_view> token(std::int32_t id) const noexcept {
    const auto own = model.vocabulary().token(id);
    return own ? own : added.vocabulary().token(id);
  }
  /// The string that decoding sees of an id; none where it sees nothing.
  std::optional<std::string_view> visible(std::int32_t id, bool skip_special) const {
    const auto text = token(id);
    return text && skip_special && added.is_special(*text) ? std::nullopt : text;
  }
};

}  // namespace reprise
