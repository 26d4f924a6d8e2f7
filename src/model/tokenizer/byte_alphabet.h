// SPDX-License-Identifier: Apache-2.0
// The byte-level alphabet: one printable character for each of the 256 bytes, so that a vocabulary
// of strings can hold any bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reprise::tokenizer {

/// The character that stands for `byte`, in UTF-8.
std::string_view character_of_byte(unsigned char byte) noexcept;

/// The byte that `character` stands for; none where it is not of the alphabet.
std::optional<unsigned char> byte_of_character(char32_t character) noexcept;

/// Every byte of `text` as its character.
std::string in_byte_alphabet(std::string_view text);

}  // namespace reprise::tokenizer
