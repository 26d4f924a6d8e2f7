// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/unicode.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <utf8proc.h>

#include <reprise/error.h>

#include "core/utf8.h"

namespace reprise::tokenizer {
namespace {

utf8proc_category_t category(char32_t character) noexcept {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

int combining_class(utf8proc_int32_t character) noexcept {
  return utf8proc_get_property(character)->combining_class;
}

bool is_ascii(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<signed char>(c) >= 0; });
}

/// Full decomposition of every character, in the order of the text.
std::vector<utf8proc_int32_t> decomposed(std::string_view text, utf8proc_option_t options) {
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  constexpr std::size_t kRoom = 32;  // the longest decomposition has 18 characters
  for (std::size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    const std::size_t size = characters.size();
    characters.resize(size + kRoom);
    int boundary = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character), characters.data() + size,
                                kRoom, options, &boundary);
    if (count < 0 || count > static_cast<utf8proc_ssize_t>(kRoom)) {
      throw Error("text cannot be normalized: utf8proc has no decomposition for a character");
    }
    characters.resize(size + static_cast<std::size_t>(count));
  }
  return characters;
}

/// Canonical order. utf8proc's own pass is quadratic in the length of a run of marks.
void order_marks(std::vector<utf8proc_int32_t>& characters) {
  auto begin = characters.begin();
  while (begin != characters.end()) {
    if (combining_class(*begin) == 0) {
      ++begin;
      continue;
    }
    auto end = std::find_if(begin, characters.end(),
                            [](utf8proc_int32_t c) { return combining_class(c) == 0; });
    std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    begin = end;
  }
}

}  // namespace

bool is_white_space(char32_t c) noexcept {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_numeric(char32_t character) noexcept {
  const auto value = category(character);
  return value >= UTF8PROC_CATEGORY_ND && value <= UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t character) noexcept {
  if (character < 0x80) {
    return (character >= '!' && character <= '/') || (character >= ':' && character <= '@') ||
           (character >= '[' && character <= '`') || (character >= '{' && character <= '~');
  }
  const auto value = category(character);
  return value >= UTF8PROC_CATEGORY_PC && value <= UTF8PROC_CATEGORY_PO;
}

bool is_mark(char32_t character) noexcept {
  const auto value = category(character);
  return value >= UTF8PROC_CATEGORY_MN && value <= UTF8PROC_CATEGORY_ME;
}

bool is_word(char32_t character) noexcept {
  const auto value = category(character);
  if (value >= UTF8PROC_CATEGORY_LU && value <= UTF8PROC_CATEGORY_NL) return true;
  if (value == UTF8PROC_CATEGORY_PC) return true;
  if (character == 0x200C || character == 0x200D) return true;
  // Symbols with the property Alphabetic: circled and squared letters.
  return (character >= 0x24B6 && character <= 0x24E9) ||
         (character >= 0x1F130 && character <= 0x1F149) ||
         (character >= 0x1F150 && character <= 0x1F169) ||
         (character >= 0x1F170 && character <= 0x1F189);
}

std::string normalized(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  const bool compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  const bool compose = form == NormalForm::nfc || form == NormalForm::nfkc;
  const auto decompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                        (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> characters = decomposed(text, decompose);
  order_marks(characters);
  if (compose) {
    const utf8proc_ssize_t count = utf8proc_normalize_utf32(
        characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    if (count < 0) throw Error("text cannot be normalized: utf8proc failed to compose it");
    characters.resize(static_cast<std::size_t>(count));
  }
  std::string result;
  result.reserve(text.size());
  for (utf8proc_int32_t character : characters) {
    append_character(result, static_cast<char32_t>(character));
  }
  return result;
}

std::string lowercased(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    if (character == 0x130) {
      result += "i\xCC\x87";  // the only character whose lower case is two: i and a dot above
    } else {
      append_character(result, static_cast<char32_t>(
                                   utf8proc_tolower(static_cast<utf8proc_int32_t>(character))));
    }
  }
  return result;
}

}  // namespace reprise::tokenizer
