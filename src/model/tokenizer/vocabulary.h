// SPDX-License-Identifier: Apache-2.0
// Two-way table of token strings and ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::tokenizer {

class Vocabulary {
 public:
  Vocabulary() = default;
  // Pointers to the strings make copies wrong.
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  /// Adds a pair; `id` is not negative. False, and nothing changed, where string or id is taken.
  bool add(std::string token, std::int32_t id);

  std::optional<std::int32_t> id(std::string_view token) const noexcept;
  /// The string of an id; none for an id without a token. Valid as long as the vocabulary.
  std::optional<std::string_view> token(std::int32_t id) const noexcept;

  /// One more than the highest id.
  std::size_t id_range() const noexcept { return tokens_.size(); }

 private:
  /// Open addressing: files with half a million merges look up a million and a half strings.
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = -1;  // -1: empty
  };
  std::size_t place(std::string_view token, std::uint32_t hash) const noexcept;
  void grow();

  std::deque<std::string> strings_;
  std::vector<const std::string*> tokens_;  // by id; null where there is none
  std::vector<Slot> slots_ = std::vector<Slot>(16);
};

}  // namespace reprise::tokenizer
