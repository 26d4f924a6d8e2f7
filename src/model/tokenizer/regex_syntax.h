// SPDX-License-Identifier: Apache-2.0
// tokenizer.json writes patterns in the Ruby dialect of Oniguruma; PCRE2 reads Perl's. Where the
// two read the same text differently, the pattern is rewritten.
#pragma once

#include <string>
#include <string_view>

namespace reprise::tokenizer {

/// `pattern` rewritten for PCRE2 (UTF, UCP, multi-line): what white space, word and hexadecimal
/// classes mean, `(?m`, `{n,m}+`, `{,n}`, `\uHHHH`, names of properties, sets inside sets. Throws
/// UsageError for what has no counterpart: set intersections, negated sets inside sets.
std::string perl_syntax(std::string_view pattern);

}  // namespace reprise::tokenizer
