// SPDX-License-Identifier: Apache-2.0
#include "diag/markup.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace reprise {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
constexpr char32_t kBad = 0xffffffff;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

struct Character {
  char32_t value = kBad;
  std::size_t bytes = 1;
};

/// The character at the beginning of `text`, which is not empty.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t value = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[i])) return {};
    value = value << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kLeast[bytes] || value > 0x10ffff || surrogate) return {};
  return {value, bytes};
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

/// Marks, embeddings, overrides and isolates: they could make a label read as another one.
bool turns_direction(char32_t c) {
  return c == 0x200e || c == 0x200f || c == 0x061c || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

bool is_line_break(char32_t c) { return c == 0x2028 || c == 0x2029; }

/// XML allows no characters that are none.
bool is_no_character(char32_t c) { return (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef); }

std::string_view entity(char c) {
  switch (c) {
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '&':
      return "&amp;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.value == kBad || is_no_character(c.value)) {
      out += kReplacement;
    } else if (is_control(c.value)) {
      out += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(c.value));
    } else if (turns_direction(c.value) || is_line_break(c.value)) {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c.value));
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::string markup_escaped(std::string_view text) {
  std::string out;
  for (const char c : plain_text(text)) {
    const std::string_view escaped = entity(c);
    if (escaped.empty()) {
      out += c;
    } else {
      out += escaped;
    }
  }
  return out;
}

std::string dot_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : plain_text(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
    if (c == '&') out += "amp;";  // Graphviz reads entities in strings
  }
  return out + '"';
}

std::string script_safe(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::size_t characters(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string cut_to(std::string_view text, std::size_t limit) {
  std::string plain = plain_text(text);
  if (characters(plain) <= limit) return plain;
  std::size_t end = 0;
  for (std::size_t kept = 0; kept < limit; ++end) {
    if (!is_continuation(plain[end]) && ++kept == limit) break;
  }
  return plain.substr(0, end) + "…";
}

}  // namespace reprise
