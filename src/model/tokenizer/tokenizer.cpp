// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "core/utf8.h"
#include "model/tokenizer/json_field.h"
#include "model/tokenizer/parts.h"
#include "model/tokenizer/pieces.h"

namespace reprise {
namespace {

using tokenizer::JsonField;
using tokenizer::Piece;
using tokenizer::Pieces;

/// Both would silently shorten or lengthen every prompt.
void refuse_limits(const JsonField& root) {
  for (const char* name : {"truncation", "padding"}) {
    const JsonField field = root[name];
    if (!field.is_null()) {
      field.fail("is set, but texts are neither cut nor padded here; set it to null");
    }
  }
}

void normalize(Pieces& pieces, const tokenizer::Normalizer& normalizer) {
  for (Piece& piece : pieces.items) {
    if (piece.is_token()) continue;
    tokenizer::NormalText text{std::string(piece.text), piece.origin};
    normalizer.apply(text);
    piece.origin = text.origin;
    piece.text = pieces.keep(std::move(text.text));
  }
}

}  // namespace

Tokenizer Tokenizer::load(const std::filesystem::path& folder) {
  const tokenizer::JsonFile file(folder / "tokenizer.json");
  const JsonField root = file.root();
  root.require_object();
  refuse_limits(root);
  auto normalizer = tokenizer::read_normalizer(root["normalizer"]);
  auto pre_tokenizer = tokenizer::read_pre_tokenizer(root["pre_tokenizer"]);
  auto model = tokenizer::Bpe::read(root["model"]);
  auto added =
      tokenizer::AddedTokens::read(root["added_tokens"], model.vocabulary(), normalizer.get());
  auto parts = std::make_shared<const Parts>(
      Parts{std::move(normalizer), std::move(pre_tokenizer), std::move(model), std::move(added),
            tokenizer::read_post_processor(root["post_processor"]),
            tokenizer::Decoder::read(root["decoder"])});
  for (const auto* ids : {&parts->post_processor.before, &parts->post_processor.after}) {
    for (const std::int32_t id : *ids) {
      if (!parts->token(id)) {
        root["post_processor"].fail("adds id " + std::to_string(id) + ", which has no token");
      }
    }
  }
  return Tokenizer(std::move(parts));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool add_special) const {
  Pieces pieces;
  const std::string_view valid = is_valid_utf8(text) ? text : pieces.keep(repaired_utf8(text));
  if (!valid.empty()) {
    pieces.items.push_back({valid, Piece::kNone, character_length(valid[0])});
  }
  parts_->added.extract_raw(pieces);
  if (parts_->normalizer) normalize(pieces, *parts_->normalizer);
  parts_->added.extract_normalized(pieces);
  std::erase_if(pieces.items, [](const Piece& piece) { return piece.text.empty(); });
  if (parts_->pre_tokenizer) parts_->pre_tokenizer->apply(pieces);

  std::vector<std::int32_t> ids;
  if (add_special) ids = parts_->post_processor.before;
  tokenizer::Bpe::Encoder encoder(parts_->model);
  for (const Piece& piece : pieces.items) {
    if (piece.is_token()) {
      ids.push_back(piece.token);
    } else {
      encoder.append(piece.text, ids);
    }
  }
  if (add_special) {
    const auto& after = parts_->post_processor.after;
    ids.insert(ids.end(), after.begin(), after.end());
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  tokenizer::Decoder::Run run(parts_->decoder);
  for (const std::int32_t id : ids) {
    if (const auto text = parts_->visible(id, skip_special)) run.token(*text);
  }
  run.finish();
  return run.take();
}

std::size_t Tokenizer::vocabulary_size() const noexcept {
  return std::max(parts_->model.vocabulary().id_range(), parts_->added.vocabulary().id_range());
}

std::optional<std::int32_t> Tokenizer::token_id(std::string_view token) const {
  const auto added = parts_->added.vocabulary().id(token);
  return added ? added : parts_->model.vocabulary().id(token);
}

std::optional<std::string> Tokenizer::token(std::int32_t id) const {
  const auto text = parts_->token(id);
  if (!text) return std::nullopt;
  return std::string(*text);
}

bool Tokenizer::is_special(std::int32_t id) const {
  const auto text = parts_->token(id);
  return text && parts_->added.is_special(*text);
}

}  // namespace reprise
