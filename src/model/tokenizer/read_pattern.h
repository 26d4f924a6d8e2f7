// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/tokenizer/json_field.h"
#include "model/tokenizer/pattern.h"

namespace reprise::tokenizer {

/// Reads {"String": …} or {"Regex": …}.
Pattern read_pattern(const JsonField& field);

}  // namespace reprise::tokenizer
