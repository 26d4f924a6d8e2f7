// SPDX-License-Identifier: Apache-2.0
// Two-way table of token strings and ids.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace reprise::tokenizer {

class Vocabulary {
 public:
  Vocabulary() = default;
  // Views into the strings make copies wrong.
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  /// Adds a pair; `id` is not negative. False, and nothing changed, where string or id is taken.
  bool add(std::string token, std::int32_t id);
  void reserve(std::size_t tokens);

  std::optional<std::int32_t> id(std::string_view token) const;
  /// The string of an id; none for an id without a token. Valid as long as the vocabulary.
  std::optional<std::string_view> token(std::int32_t id) const noexcept;

  /// Number of tokens.
  std::size_t size() const noexcept { return ids_.size(); }
  /// One more than the highest id.
  std::size_t id_range() const noexcept { return tokens_.size(); }

 private:
  std::deque<std::string> strings_;
  std::unordered_map<std::string_view, std::int32_t> ids_;
  std::vector<const std::string*> tokens_;  // by id; null where there is none
};

}  // namespace reprise::tokenizer
