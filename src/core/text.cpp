// SPDX-License-Identifier: Apache-2.0
#include "core/text.h"

namespace reprise {
namespace {

constexpr char kHex[] = "0123456789abcdef";

bool is_control(unsigned char byte) { return byte < 0x20 || byte == 0x7f; }
bool is_continuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  bool cut = text.size() > limit;
  if (cut) {
    while (limit > 0 && is_continuation(static_cast<unsigned char>(text[limit]))) --limit;
    text = text.substr(0, limit);
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_control(byte)) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  if (cut) out += "…";
  return out;
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  out += printable(text);
  out += "'";
  return out;
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace reprise
