// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.h"

#include <algorithm>

namespace reprise {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

enum class Form { complete, unfinished, broken };

struct Sequence {
  Form form;
  std::size_t length;  // of the character, of its beginning, or of the maximal broken part
};

bool is_tail(unsigned char byte) noexcept { return (byte & 0xC0) == 0x80; }

/// What stands at the start of `bytes` (not empty), by the table of well-formed sequences.
Sequence classify(std::string_view bytes) noexcept {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return {Form::complete, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Form::broken, 1};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (std::size_t at = 1; at < length; ++at) {
    if (at == bytes.size()) return {Form::unfinished, at};
    const auto byte = static_cast<unsigned char>(bytes[at]);
    bool fits = is_tail(byte);
    if (at == 1) {
      if (lead == 0xE0) fits = fits && byte >= 0xA0;
      if (lead == 0xED) fits = fits && byte < 0xA0;
      if (lead == 0xF0) fits = fits && byte >= 0x90;
      if (lead == 0xF4) fits = fits && byte < 0x90;
    }
    if (!fits) return {Form::broken, at};
  }
  return {Form::complete, length};
}

}  // namespace

std::size_t character_length(char lead) noexcept {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

char32_t next_character(std::string_view text, std::size_t& position) noexcept {
  const auto lead = static_cast<unsigned char>(text[position]);
  const std::size_t length = character_length(text[position]);
  char32_t value = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  for (std::size_t at = 1; at < length; ++at) {
    value = (value << 6) | (static_cast<unsigned char>(text[position + at]) & 0x3FU);
  }
  position += length;
  return value;
}

std::size_t previous_character(std::string_view text, std::size_t position) noexcept {
  do {
    --position;
  } while (position > 0 && is_tail(static_cast<unsigned char>(text[position])));
  return position;
}

void append_character(std::string& text, char32_t character) {
  if (character < 0x80) {
    text += static_cast<char>(character);
    return;
  }
  const int tails = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  const char32_t lead = tails == 1 ? 0xC0 : tails == 2 ? 0xE0 : 0xF0;
  text += static_cast<char>(lead | (character >> (6 * tails)));
  for (int tail = tails - 1; tail >= 0; --tail) {
    text += static_cast<char>(0x80 | ((character >> (6 * tail)) & 0x3F));
  }
}

bool is_valid_utf8(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const Sequence sequence = classify(bytes);
    if (sequence.form != Form::complete) return false;
    bytes.remove_prefix(sequence.length);
  }
  return true;
}

std::string repaired_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  Utf8Repair repair;
  repair.feed(bytes, text);
  repair.finish(text);
  return text;
}

void Utf8Repair::feed(std::string_view bytes, std::string& out) {
  std::string joined;
  if (!pending_.empty()) {
    joined = pending_;
    joined += bytes;
    bytes = joined;
    pending_.clear();
  }
  while (!bytes.empty()) {
    const Sequence sequence = classify(bytes);
    if (sequence.form == Form::unfinished) {
      pending_ = bytes;
      return;
    }
    out += sequence.form == Form::complete ? bytes.substr(0, sequence.length) : kReplacement;
    bytes.remove_prefix(sequence.length);
  }
}

void Utf8Repair::finish(std::string& out) {
  if (!pending_.empty()) out += kReplacement;
  pending_.clear();
}

}  // namespace reprise
