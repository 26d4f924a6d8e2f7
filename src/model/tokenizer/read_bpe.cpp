// SPDX-License-Identifier: Apache-2.0
// Reads `model` of tokenizer.json.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "model/tokenizer/bpe.h"

namespace reprise::tokenizer {
namespace {

std::string text_or_empty(const JsonField& field) { return field.is_null() ? "" : field.text(); }

/// Both spellings: "left right", and ["left", "right"].
std::pair<std::string, std::string> read_pair(const JsonField& field) {
  if (field.is_text()) {
    const std::string text = field.text();
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      field.fail("is \"" + text + "\"; a merge is two tokens with one space between them");
    }
    return {text.substr(0, space), text.substr(space + 1)};
  }
  std::pair<std::string, std::string> pair;
  std::size_t count = 0;
  field.each_element([&](const JsonField& element) {
    if (count < 2) (count == 0 ? pair.first : pair.second) = element.text();
    ++count;
  });
  if (count != 2) field.fail("must hold exactly two tokens");
  return pair;
}

}  // namespace

Bpe Bpe::read(const JsonField& field) {
  field.require_object();
  const JsonField type = field["type"];
  // Files older than the field have no type; then vocabulary and merges tell.
  const std::string name = type.is_null() ? "BPE" : type.text();
  if (name != "BPE") type.fail("is \"" + name + "\"; only BPE tokenizers are supported");
  Bpe model;
  model.read_vocabulary(field["vocab"]);
  model.read_options(field);
  model.read_merges(field["merges"]);
  return model;
}

void Bpe::read_vocabulary(const JsonField& field) {
  field.each_member([this](const std::string& token, const JsonField& id) {
    const std::int32_t value = id.id();
    if (!vocabulary_.add(token, value)) {
      id.fail(fmt::format("has id {}, which token \"{}\" has already", value,
                          vocabulary_.token(value).value_or("")));
    }
  });
  for (unsigned byte = 0; byte < byte_tokens_.size(); ++byte) {
    byte_tokens_[byte] = vocabulary_.id(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  }
}

void Bpe::read_options(const JsonField& field) {
  const JsonField dropout = field["dropout"];
  if (!dropout.is_null() && dropout.number() != 0) {
    dropout.fail("is set; random merges are for training, set it to null");
  }
  prefix_ = text_or_empty(field["continuing_subword_prefix"]);
  suffix_ = text_or_empty(field["end_of_word_suffix"]);
  fuse_unknown_ = field["fuse_unk"].flag_or(false);
  byte_fallback_ = field["byte_fallback"].flag_or(false);
  ignore_merges_ = field["ignore_merges"].flag_or(false);
  // A name without a token is no fault by itself: a byte-level vocabulary never needs it.
  unknown_name_ = text_or_empty(field["unk_token"]);
  unknown_ = vocabulary_.id(unknown_name_);
}

void Bpe::read_merges(const JsonField& field) {
  std::vector<JsonField> merges = field.elements();
  merges_ = MergeTable(merges.size());
  std::uint32_t rank = 0;
  for (const JsonField& merge : merges) {
    // The first line of an old merges.txt, carried over.
    if (merge.is_text() && merge.text().starts_with("#version")) continue;
    const auto [left, right] = read_pair(merge);
    const auto known = [&](const std::string& token) {
      const auto id = vocabulary_.id(token);
      if (!id) merge.fail("names token \"" + token + "\", which is not in model.vocab");
      return *id;
    };
    const std::int32_t left_id = known(left);
    const std::int32_t right_id = known(right);
    // The second half loses as many bytes as a prefix has, whatever they are.
    if (right.size() < prefix_.size()) merge.fail("is shorter than continuing_subword_prefix");
    merges_.add(left_id, right_id, {rank++, known(left + right.substr(prefix_.size()))});
  }
}

}  // namespace reprise::tokenizer
