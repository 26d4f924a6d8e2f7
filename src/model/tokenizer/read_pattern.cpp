// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/read_pattern.h"

#include <reprise/error.h>

namespace reprise::tokenizer {

Pattern read_pattern(const JsonField& field) {
  const JsonField literal = field["String"];
  if (!literal.is_null()) return Pattern::literal(literal.text());
  const JsonField regex = field["Regex"];
  if (regex.is_null()) field.fail("must hold \"String\" or \"Regex\"");
  try {
    return Pattern::regex(regex.text());
  } catch (const UsageError& fault) {
    regex.fail(std::string("is a ") + fault.what());
  }
}

}  // namespace reprise::tokenizer
