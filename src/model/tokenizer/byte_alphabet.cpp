// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/byte_alphabet.h"

#include <array>

namespace reprise::tokenizer {
namespace {

constexpr bool is_printable(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr unsigned kHighest = 0x143;  // the last character given to a byte without its own

struct Alphabet {
  std::array<std::array<char, 2>, 256> character{};
  std::array<std::uint8_t, 256> length{};
  std::array<std::int16_t, kHighest + 1> byte{};
};

/// Printable bytes stand for themselves (as Latin-1); the others are numbered from U+0100 on.
constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (auto& byte : alphabet.byte) byte = -1;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const unsigned character = is_printable(byte) ? byte : next++;
    alphabet.byte[character] = static_cast<std::int16_t>(byte);
    if (character < 0x80) {
      alphabet.character[byte][0] = static_cast<char>(character);
      alphabet.length[byte] = 1;
    } else {
      alphabet.character[byte][0] = static_cast<char>(0xC0 | (character >> 6));
      alphabet.character[byte][1] = static_cast<char>(0x80 | (character & 0x3F));
      alphabet.length[byte] = 2;
    }
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string_view character_of_byte(unsigned char byte) noexcept {
  return {kAlphabet.character[byte].data(), kAlphabet.length[byte]};
}

std::optional<unsigned char> byte_of_character(char32_t character) noexcept {
  if (character > kHighest || kAlphabet.byte[character] < 0) return std::nullopt;
  return static_cast<unsigned char>(kAlphabet.byte[character]);
}

std::string in_byte_alphabet(std::string_view text) {
  std::string result;
  result.reserve(text.size() * 2);
  for (char byte : text) result += character_of_byte(static_cast<unsigned char>(byte));
  return result;
}

}  // namespace reprise::tokenizer
