// SPDX-License-Identifier: Apache-2.0
// The special tokens put round an encoded text.
#pragma once

#include <cstdint>
#include <vector>

#include "model/tokenizer/json_field.h"

namespace reprise::tokenizer {

/// What every supported kind does to a single text comes down to this: ids before it, ids after it.
struct PostProcessor {
  std::vector<std::int32_t> before;
  std::vector<std::int32_t> after;
  bool empty() const noexcept { return before.empty() && after.empty(); }
};

/// Reads `post_processor` of tokenizer.json; one that adds nothing where there is none. Throws
/// ModelError for a type that is not supported or a malformed one.
PostProcessor read_post_processor(const JsonField& field);

}  // namespace reprise::tokenizer
