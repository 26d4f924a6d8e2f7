// SPDX-License-Identifier: Apache-2.0
// Finds the longest of many strings that begins at a place of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reprise::tokenizer {

class TokenTrie {
 public:
  /// `text` is not empty. A text given twice keeps the first value.
  void add(std::string_view text, std::size_t value);

  bool empty() const noexcept { return nodes_.size() == 1; }

  struct Hit {
    std::size_t end;
    std::size_t value;
  };
  /// The longest string that begins exactly at `begin`. Time: at most the longest string's length.
  std::optional<Hit> longest_at(std::string_view text, std::size_t begin) const;

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Node {
    std::vector<std::pair<unsigned char, std::uint32_t>> children;  // few: searched in order
    std::size_t value = kNone;
  };
  const std::uint32_t* child(std::uint32_t node, unsigned char byte) const noexcept;

  std::vector<Node> nodes_{1};
  std::vector<bool> first_ = std::vector<bool>(256, false);  // bytes that begin some string
};

}  // namespace reprise::tokenizer
