// SPDX-License-Identifier: Apache-2.0
#include "core/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "core/text.h"
#include "core/utf8.h"

namespace reprise {

JsonWriter& JsonWriter::key(std::string_view name) {
  if (open_.empty() || !open_.back().object || key_given_) {
    throw std::logic_error("JsonWriter: a key stands only in an object, before its value");
  }
  if (!open_.back().empty) text_ += ',';
  open_.back().empty = false;
  new_line();
  text_ += json_quoted(repaired_utf8(name));
  text_ += indent_ > 0 ? ": " : ":";
  key_given_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  return raw(json_quoted(repaired_utf8(text)));
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) throw std::logic_error("JsonWriter: a number that is not finite");
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return raw(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

const std::string& JsonWriter::text() const {
  if (!open_.empty() || text_.empty()) throw std::logic_error("JsonWriter: not finished");
  return text_;
}

JsonWriter& JsonWriter::raw(std::string_view token) {
  before_value();
  text_ += token;
  return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
  before_value();
  text_ += bracket;
  open_.push_back({.object = bracket == '{', .empty = true});
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  if (open_.empty() || open_.back().object != (bracket == '}') || key_given_) {
    throw std::logic_error("JsonWriter: closed what is not open");
  }
  const bool empty = open_.back().empty;
  open_.pop_back();
  if (!empty) new_line();
  text_ += bracket;
  return *this;
}

void JsonWriter::before_value() {
  if (open_.empty()) {
    if (!text_.empty()) throw std::logic_error("JsonWriter: a second document");
    return;
  }
  if (open_.back().object) {
    if (!key_given_) throw std::logic_error("JsonWriter: a value in an object needs its key");
    key_given_ = false;
    return;
  }
  if (!open_.back().empty) text_ += ',';
  open_.back().empty = false;
  new_line();
}

void JsonWriter::new_line() {
  if (indent_ == 0) return;
  text_ += '\n';
  text_.append(open_.size() * static_cast<std::size_t>(indent_), ' ');
}

}  // namespace reprise
