// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/vocabulary.h"

#include <utility>

namespace reprise::tokenizer {

void Vocabulary::reserve(std::size_t tokens) {
  ids_.reserve(tokens);
  tokens_.reserve(tokens);
}

bool Vocabulary::add(std::string token, std::int32_t id) {
  if (ids_.contains(token) || this->token(id)) return false;
  const std::string& kept = strings_.emplace_back(std::move(token));
  ids_.emplace(kept, id);
  const auto index = static_cast<std::size_t>(id);
  if (index >= tokens_.size()) tokens_.resize(index + 1, nullptr);
  tokens_[index] = &kept;
  return true;
}

std::optional<std::int32_t> Vocabulary::id(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string_view> Vocabulary::token(std::int32_t id) const noexcept {
  const auto index = static_cast<std::size_t>(id);
  if (id < 0 || index >= tokens_.size() || tokens_[index] == nullptr) return std::nullopt;
  return *tokens_[index];
}

}  // namespace reprise::tokenizer
