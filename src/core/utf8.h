// SPDX-License-Identifier: Apache-2.0
// UTF-8 in and out, and the repair of text that is not UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reprise {

/// Reads the character at `position` and moves past it. `text` must be valid UTF-8 and `position`
/// the first byte of a character.
char32_t next_character(std::string_view text, std::size_t& position) noexcept;

/// Start of the character that ends right before `position` (> 0), in valid UTF-8.
std::size_t previous_character(std::string_view text, std::size_t position) noexcept;

/// Bytes of the character whose first byte is `lead`, in valid UTF-8.
std::size_t character_length(char lead) noexcept;

void append_character(std::string& text, char32_t character);

bool is_valid_utf8(std::string_view bytes) noexcept;

/// Bytes with each maximal ill-formed sequence replaced by U+FFFD, as the Unicode standard
/// recommends.
std::string repaired_utf8(std::string_view bytes);

/// The same repair for bytes that arrive in portions: never hands on half a character.
class Utf8Repair {
 public:
  /// Appends to `out` what is certain after these bytes; keeps at most three back.
  void feed(std::string_view bytes, std::string& out);
  /// Appends one U+FFFD where an unfinished character was kept back.
  void finish(std::string& out);

 private:
  std::string pending_;
};

}  // namespace reprise
