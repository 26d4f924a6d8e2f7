// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/vocabulary.h"

#include <functional>
#include <utility>

namespace reprise::tokenizer {
namespace {

std::uint32_t hash_of(std::string_view token) noexcept {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(token));
}

}  // namespace

/// Slot of the token, or the empty one where it would go. At least half of the slots are empty.
std::size_t Vocabulary::place(std::string_view token, std::uint32_t hash) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id >= 0) {
    if (slots_[at].hash == hash && *tokens_[static_cast<std::size_t>(slots_[at].id)] == token)
      break;
    at = (at + 1) & mask;
  }
  return at;
}

void Vocabulary::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].id >= 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

bool Vocabulary::add(std::string token, std::int32_t id) {
  if (this->id(token) || this->token(id)) return false;
  const std::string& kept = strings_.emplace_back(std::move(token));
  const auto index = static_cast<std::size_t>(id);
  if (index >= tokens_.size()) tokens_.resize(index + 1, nullptr);
  tokens_[index] = &kept;
  if (strings_.size() * 2 > slots_.size()) grow();
  const std::uint32_t hash = hash_of(kept);
  slots_[place(kept, hash)] = {hash, id};
  return true;
}

std::optional<std::int32_t> Vocabulary::id(std::string_view token) const noexcept {
  const Slot& slot = slots_[place(token, hash_of(token))];
  if (slot.id < 0) return std::nullopt;
  return slot.id;
}

std::optional<std::string_view> Vocabulary::token(std::int32_t id) const noexcept {
  const auto index = static_cast<std::size_t>(id);
  if (id < 0 || index >= tokens_.size() || tokens_[index] == nullptr) return std::nullopt;
  return *tokens_[index];
}

}  // namespace reprise::tokenizer
