// SPDX-License-Identifier: Apache-2.0
// Character classes and normal forms, by the Unicode tables of utf8proc.
#pragma once

#include <string>
#include <string_view>

namespace reprise::tokenizer {

/// Property White_Space.
bool is_white_space(char32_t character) noexcept;
/// General categories Nd, Nl and No.
bool is_numeric(char32_t character) noexcept;
/// ASCII punctuation and symbols, and the general categories P*.
bool is_punctuation(char32_t character) noexcept;
/// General categories M*.
bool is_mark(char32_t character) noexcept;
/// What `\w` matches: letters, marks, decimal and letter numbers, connectors, joiners.
bool is_word(char32_t character) noexcept;

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// `text` (valid UTF-8) in a normal form. Time is linear but for runs of combining marks, which are
/// sorted.
std::string normalized(std::string_view text, NormalForm form);

/// Each character's full lower case, without regard to its neighbours.
std::string lowercased(std::string_view text);

}  // namespace reprise::tokenizer
