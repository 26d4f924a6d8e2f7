// SPDX-License-Identifier: Apache-2.0
// What commands ask of a model before they load its weights: a tokenizer, a prompt that fits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/model_source.h"
#include "model/tokenizer/tokenizer.h"

namespace reprise::cli {

/// Throws ModelError, naming what is missing, where the model has no readable tokenizer.json.
Tokenizer load_tokenizer(const ModelSource& source);

/// The ids of a prompt's text with the tokenizer's special tokens; of an empty text the BOS alone.
/// Throws UsageError where that leaves no token.
std::vector<std::int32_t> prompt_ids(const ModelSource& source, const Tokenizer& tokenizer,
                                     std::string_view text);

/// Throws UsageError where a token is outside the vocabulary or there are more than the context
/// holds: the decoder would find out too, but only after minutes of loading a large model.
void check_prompt(const ModelConfig& config, std::span<const std::int32_t> ids);

}  // namespace reprise::cli
