// SPDX-License-Identifier: Apache-2.0
// What the Metaspace pre-tokenizer and the Metaspace decoder have in common.
#pragma once

#include "model/tokenizer/json_field.h"

namespace reprise::tokenizer {

/// Which words get a mark in front although no space stood there.
enum class PrependScheme { always, first, never };

struct MetaspaceOptions {
  char32_t replacement = 0x2581;
  PrependScheme scheme = PrependScheme::always;
  bool split = true;
};

/// Reads both spellings: `prepend_scheme`, and the older `add_prefix_space`.
MetaspaceOptions read_metaspace(const JsonField& field);

}  // namespace reprise::tokenizer
