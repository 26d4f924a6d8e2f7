// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/token_trie.h"

namespace reprise::tokenizer {

const std::uint32_t* TokenTrie::child(std::uint32_t node, unsigned char byte) const noexcept {
  for (const auto& [label, target] : nodes_[node].children) {
    if (label == byte) return &target;
  }
  return nullptr;
}

void TokenTrie::add(std::string_view text, std::size_t value) {
  first_[static_cast<unsigned char>(text[0])] = true;
  std::uint32_t node = 0;
  for (char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (const std::uint32_t* next = child(node, byte)) {
      node = *next;
      continue;
    }
    const auto fresh = static_cast<std::uint32_t>(nodes_.size());
    nodes_[node].children.emplace_back(byte, fresh);
    nodes_.emplace_back();
    node = fresh;
  }
  if (nodes_[node].value == kNone) nodes_[node].value = value;
}

std::optional<TokenTrie::Hit> TokenTrie::longest_at(std::string_view text,
                                                    std::size_t begin) const {
  if (!first_[static_cast<unsigned char>(text[begin])]) return std::nullopt;
  std::optional<Hit> longest;
  std::uint32_t node = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    const std::uint32_t* next = child(node, static_cast<unsigned char>(text[at]));
    if (next == nullptr) break;
    node = *next;
    if (nodes_[node].value != kNone) longest = Hit{at + 1, nodes_[node].value};
  }
  return longest;
}

}  // namespace reprise::tokenizer
