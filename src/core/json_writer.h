// SPDX-License-Identifier: Apache-2.0
// Writes JSON text piece by piece: the program's answers, statistics and record files.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// Calls follow the grammar: in an object, key() before each value. Breaking it, or a number that
/// is not finite, is a std::logic_error: JSON has no NaN, and a reader must never meet half a
/// document. What is not UTF-8 in a string is written as U+FFFD.
class JsonWriter {
 public:
  /// `indent` 0 writes one line without spaces; else one member per line, so many spaces a level.
  explicit JsonWriter(int indent = 0) : indent_(indent) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
  /// The shortest digits that read back as the same double.
  JsonWriter& value(double number);
  template <std::integral Int>
  requires(!std::same_as<Int, bool>) JsonWriter& value(Int number) {
    return raw(std::to_string(number));
  }
  JsonWriter& null() { return raw("null"); }

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }
  template <class Range>
  JsonWriter& array(const Range& values) {
    begin_array();
    for (const auto& each : values) value(each);
    return end_array();
  }

  /// The finished document, without a newline. Throws std::logic_error if something is still open.
  const std::string& text() const;

 private:
  struct Level {
    bool object = false;
    bool empty = true;
  };
  JsonWriter& raw(std::string_view token);
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void before_value();
  void new_line();

  int indent_;
  std::string text_;
  std::vector<Level> open_;
  bool key_given_ = false;
};

}  // namespace reprise
