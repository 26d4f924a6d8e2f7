// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/bpe.h"

#include <algorithm>
#include <functional>
#include <limits>

#include <reprise/error.h>

#include "core/utf8.h"

namespace reprise::tokenizer {

void Bpe::Encoder::append(std::string_view word, std::vector<std::int32_t>& ids) {
  if (word.empty()) return;
  if (model_.ignore_merges_) {
    if (const auto whole = model_.vocabulary_.id(word)) {
      ids.push_back(*whole);
      return;
    }
  }
  if (word.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 2) {
    throw UsageError("a text of more than 1 GiB cannot be tokenized in one piece; cut it up");
  }
  symbols_.clear();
  spell(word);
  merge();
  for (const Symbol& symbol : symbols_) {
    if (symbol.id != kGone) ids.push_back(symbol.id);
  }
}

void Bpe::Encoder::add_symbol(std::int32_t id) {
  const auto position = static_cast<std::int32_t>(symbols_.size());
  symbols_.push_back({id, position - 1, position + 1});
}

/// Characters that the vocabulary lacks become their bytes' tokens, or the unknown token, or
/// vanish.
void Bpe::Encoder::spell(std::string_view word) {
  // An unknown character is held back, so that the next one can join it. Characters spelled as
  // bytes pass it by, as they do in the reference.
  bool unknown_waits = false;
  const auto flush = [&] {
    if (unknown_waits) add_symbol(unknown());
    unknown_waits = false;
  };
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t begin = at;
    at += character_length(word[at]);
    std::string_view text = word.substr(begin, at - begin);
    const bool prefixed = begin > 0 && !model_.prefix_.empty();
    const bool suffixed = at == word.size() && !model_.suffix_.empty();
    if (prefixed || suffixed) {
      affixed_ = prefixed ? model_.prefix_ : std::string();
      affixed_ += text;
      if (suffixed) affixed_ += model_.suffix_;
      text = affixed_;
    }
    if (const auto known = model_.vocabulary_.id(text)) {
      flush();
      add_symbol(*known);
    } else if (model_.byte_fallback_ && spell_as_bytes(text)) {
      continue;
    } else if (!model_.unknown_name_.empty()) {
      if (!model_.fuse_unknown_) flush();
      unknown_waits = true;
    }
  }
  flush();
}

std::int32_t Bpe::Encoder::unknown() const {
  if (!model_.unknown_) {
    throw ModelError("tokenizer.json: model.unk_token \"" + model_.unknown_name_ +
                     "\" is needed for a character of the text, but model.vocab does not have it");
  }
  return *model_.unknown_;
}

bool Bpe::Encoder::spell_as_bytes(std::string_view text) {
  const auto token = [this](char byte) {
    return model_.byte_tokens_[static_cast<unsigned char>(byte)];
  };
  if (std::any_of(text.begin(), text.end(), [&](char byte) { return token(byte) < 0; })) {
    return false;
  }
  for (char byte : text) add_symbol(token(byte));
  return true;
}

/// Notes the merge of the symbol at `position` with its right neighbour, where there is one.
bool Bpe::Encoder::propose(std::int32_t position) {
  const Symbol& symbol = symbols_[static_cast<std::size_t>(position)];
  if (symbol.next >= static_cast<std::int32_t>(symbols_.size())) return false;
  const std::int32_t right = symbols_[static_cast<std::size_t>(symbol.next)].id;
  const Merge* found = model_.merges_.find(symbol.id, right);
  if (found == nullptr) return false;
  candidates_.push_back((Candidate{found->rank} << 32) | static_cast<std::uint32_t>(position));
  return true;
}

void Bpe::Encoder::merge() {
  constexpr std::greater<> kFirst;  // the smallest candidate is on top of the heap
  const auto count = static_cast<std::int32_t>(symbols_.size());
  candidates_.clear();
  for (std::int32_t position = 0; position + 1 < count; ++position) propose(position);
  std::make_heap(candidates_.begin(), candidates_.end(), kFirst);
  while (!candidates_.empty()) {
    std::pop_heap(candidates_.begin(), candidates_.end(), kFirst);
    const auto rank = static_cast<std::uint32_t>(candidates_.back() >> 32);
    const auto position = static_cast<std::int32_t>(candidates_.back() & 0xFFFFFFFFU);
    candidates_.pop_back();
    Symbol& left = symbols_[static_cast<std::size_t>(position)];
    if (left.id == kGone || left.next >= count) continue;
    Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
    // The neighbours may have changed since the candidate was noted.
    const Merge* now = model_.merges_.find(left.id, right.id);
    if (now == nullptr || now->rank != rank) continue;
    left.id = now->result;
    left.next = right.next;
    right.id = kGone;
    if (left.next < count) symbols_[static_cast<std::size_t>(left.next)].previous = position;
    for (const std::int32_t changed : {left.previous, position}) {
      if (changed >= 0 && propose(changed)) {
        std::push_heap(candidates_.begin(), candidates_.end(), kFirst);
      }
    }
  }
}

}  // namespace reprise::tokenizer
