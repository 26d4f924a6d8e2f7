// SPDX-License-Identifier: Apache-2.0
#include "model/config_fields.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"

namespace reprise {
namespace {

constexpr double kMaxNumber = 1e30;  // of rope values: stays finite as a float

std::int32_t as_token(const JsonValue& value, std::int64_t vocabulary) {
  if (!value.is(JsonValue::Kind::integer) || value.integer(INT64_MIN, INT64_MAX) < 0 ||
      value.integer(0, INT64_MAX) >= vocabulary) {
    throw value.error(fmt::format("a token id below vocab_size {}", vocabulary));
  }
  return static_cast<std::int32_t>(value.integer(0, vocabulary - 1));
}

double at_least(const JsonValue& value, double low, std::string_view what) {
  const double number = value.number();
  if (!(number >= low && number <= kMaxNumber)) throw value.error(what);
  return number;
}

double positive(const JsonValue& value) {
  const double number = value.number();
  if (!(number > 0 && number <= kMaxNumber)) throw value.error("a positive number");
  return number;
}

/// The object that describes the rope: rope_scaling (old) before rope_parameters (new), as
/// transformers reads them; nothing if neither says anything.
std::optional<JsonValue> rope_object(const JsonValue& root) {
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    std::optional<JsonValue> value = root.find(key);
    if (value && !value->members().empty()) return value;
  }
  return std::nullopt;
}

RopeConfig::Type rope_type(const JsonValue& rope) {
  std::optional<JsonValue> type = rope.find("rope_type");
  if (!type) type = rope.find("type");
  if (!type || type->string() == "default") return RopeConfig::Type::standard;
  if (type->string() == "linear") return RopeConfig::Type::linear;
  if (type->string() == "llama3") return RopeConfig::Type::llama3;
  throw type->error("a supported rope type: default, linear or llama3");
}

/// Rotation of only a part of each head is another computation than ours.
void refuse_partial_rotation(const JsonValue& object) {
  const std::optional<JsonValue> part = object.find("partial_rotary_factor");
  if (part && part->number() != 1.0) throw part->error("1 (partial rotation is not supported)");
}

}  // namespace

std::optional<std::int32_t> token_id(const JsonValue& root, std::string_view key,
                                     std::int64_t vocabulary) {
  const std::optional<JsonValue> value = root.find(key);
  if (!value) return std::nullopt;
  return as_token(*value, vocabulary);
}

std::optional<std::vector<std::int32_t>> token_ids(const JsonValue& root, std::string_view key,
                                                   std::int64_t vocabulary) {
  const std::optional<JsonValue> value = root.find(key);
  if (!value) return std::nullopt;
  std::vector<std::int32_t> ids;
  if (!value->is(JsonValue::Kind::array)) {
    ids.push_back(as_token(*value, vocabulary));
    return ids;
  }
  for (const JsonValue& item : value->items()) {
    const std::int32_t id = as_token(item, vocabulary);
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

std::optional<std::int32_t> pad_id(const JsonValue& root, std::int64_t vocabulary) {
  const std::optional<JsonValue> value = root.find("pad_token_id");
  if (value && value->is(JsonValue::Kind::integer) && value->integer(INT64_MIN, INT64_MAX) == -1) {
    return std::nullopt;
  }
  return token_id(root, "pad_token_id", vocabulary);
}

RopeConfig read_rope(const JsonValue& root) {
  RopeConfig out;
  refuse_partial_rotation(root);
  const std::optional<JsonValue> rope = rope_object(root);
  if (const auto theta = root.find("rope_theta")) out.theta = positive(*theta);
  if (!rope) return out;

  for (const std::string_view kind : {"full_attention", "sliding_attention"}) {
    if (rope->contains(kind)) throw rope->error("one set of values for all layers");
  }
  refuse_partial_rotation(*rope);
  if (const auto theta = rope->find("rope_theta")) out.theta = positive(*theta);
  out.type = rope_type(*rope);
  if (out.type == RopeConfig::Type::standard) return out;
  out.factor = at_least(rope->at("factor"), 1, "a number of at least 1");
  if (out.type == RopeConfig::Type::linear) return out;
  out.low_freq_factor = positive(rope->at("low_freq_factor"));
  const JsonValue high = rope->at("high_freq_factor");
  out.high_freq_factor = positive(high);
  if (out.high_freq_factor <= out.low_freq_factor) throw high.error("above low_freq_factor");
  out.original_max_positions =
      rope->at("original_max_position_embeddings").integer(1, kMaxPositions);
  return out;
}

}  // namespace reprise
