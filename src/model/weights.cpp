// SPDX-License-Identifier: Apache-2.0
#include "model/weights.h"

#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_set>

#include <fmt/format.h>

#include <reprise/error.h>

#include "core/text.h"

namespace reprise {
namespace {

constexpr const char* kTable = "model.embed_tokens.weight";
constexpr const char* kHead = "lm_head.weight";
constexpr std::string_view kLayerPrefix = "model.layers.";

struct LayerPart {
  std::string_view name;
  Shape shape;
  TensorRole role;
  HostTensor LayerTensors::*slot;
};

std::vector<LayerPart> layer_parts(const ModelConfig& c) {
  const std::int64_t hidden = c.hidden_size, inner = c.intermediate_size;
  const std::int64_t query = c.query_size(), kv = c.kv_size();
  using L = LayerTensors;
  using enum TensorRole;
  std::vector<LayerPart> parts{{"input_layernorm.weight", {hidden}, norm, &L::input_norm},
                               {"self_attn.q_proj.weight", {query, hidden}, matrix, &L::q},
                               {"self_attn.k_proj.weight", {kv, hidden}, matrix, &L::k},
                               {"self_attn.v_proj.weight", {kv, hidden}, matrix, &L::v},
                               {"self_attn.o_proj.weight", {hidden, query}, matrix, &L::o},
                               {"post_attention_layernorm.weight", {hidden}, norm, &L::post_norm},
                               {"mlp.gate_proj.weight", {inner, hidden}, matrix, &L::gate},
                               {"mlp.up_proj.weight", {inner, hidden}, matrix, &L::up},
                               {"mlp.down_proj.weight", {hidden, inner}, matrix, &L::down}};
  if (c.qkv_bias) {
    parts.push_back({"self_attn.q_proj.bias", {query}, bias, &L::q_bias});
    parts.push_back({"self_attn.k_proj.bias", {kv}, bias, &L::k_bias});
    parts.push_back({"self_attn.v_proj.bias", {kv}, bias, &L::v_bias});
  }
  if (c.o_bias) parts.push_back({"self_attn.o_proj.bias", {hidden}, bias, &L::o_bias});
  if (c.mlp_bias) {
    parts.push_back({"mlp.gate_proj.bias", {inner}, bias, &L::gate_bias});
    parts.push_back({"mlp.up_proj.bias", {inner}, bias, &L::up_bias});
    parts.push_back({"mlp.down_proj.bias", {hidden}, bias, &L::down_bias});
  }
  return parts;
}

ModelError fault(const std::filesystem::path& file, std::string_view tensor,
                 const std::string& what) {
  return ModelError(
      fmt::format("{}: tensor {} {}", printable(file.string()), in_quotes(tensor), what));
}

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

HostTensor checked(const Checkpoint& checkpoint, const ExpectedTensor& expected) {
  const Checkpoint::Located found = checkpoint.find(expected.name);
  if (!found) {
    throw fault(checkpoint.catalogue_file(), expected.name,
                "is missing, config.json demands it; the checkpoint is incomplete or config.json "
                "belongs to another model");
  }
  if (!found.entry->dtype || !is_float(*found.entry->dtype)) {
    throw fault(found.file->path(), expected.name,
                "has dtype " + found.entry->dtype_name + "; convert it to F32, F16 or BF16");
  }
  if (found.entry->shape != expected.shape) {
    throw fault(found.file->path(), expected.name,
                fmt::format("has shape {}, config.json says {}; correct the one that is wrong",
                            to_string(found.entry->shape), to_string(expected.shape)));
  }
  return found.file->tensor(*found.entry);
}

std::optional<std::int64_t> layer_of(std::string_view name) {
  if (!name.starts_with(kLayerPrefix)) return std::nullopt;
  name.remove_prefix(kLayerPrefix.size());
  std::int64_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc{}) return std::nullopt;
  return layer;
}

/// Extra tensors that would change the result if they were used prove a wrong config.json.
void refuse_contradictions(const Checkpoint& checkpoint, const ModelConfig& config,
                           const std::vector<ExpectedTensor>& expected) {
  std::unordered_set<std::string_view> known;
  for (const ExpectedTensor& tensor : expected) known.insert(tensor.name);
  for (const std::string_view name : checkpoint.names()) {
    if (known.contains(name)) continue;
    const auto refuse = [&](const std::string& why) {
      throw fault(checkpoint.find(name).file->path(), name,
                  why + "; config.json does not belong to this checkpoint");
    };
    const std::optional<std::int64_t> layer = layer_of(name);
    if (layer && *layer >= config.layers) {
      refuse(fmt::format("is beyond the last of config.json's {} layers", config.layers));
    }
    if (name.ends_with("_proj.bias") || name == "lm_head.bias") {
      refuse("is a bias that " + config.architecture + " with this config.json does not have");
    }
    if (name.ends_with(".q_norm.weight") || name.ends_with(".k_norm.weight")) {
      refuse("is a norm of queries or keys, which " + config.architecture + " does not have");
    }
  }
}

}  // namespace

std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config) {
  const Shape table{config.vocabulary, config.hidden_size};
  const std::vector<LayerPart> parts = layer_parts(config);
  std::vector<ExpectedTensor> all;
  all.push_back({.name = kTable, .shape = table, .model_slot = &ModelTensors::embed});
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    for (const LayerPart& part : parts) {
      all.push_back({.name = fmt::format("{}{}.{}", kLayerPrefix, layer, part.name),
                     .shape = part.shape,
                     .role = part.role,
                     .layer = layer,
                     .layer_slot = part.slot});
    }
  }
  all.push_back({.name = "model.norm.weight",
                 .shape = Shape{config.hidden_size},
                 .role = TensorRole::norm,
                 .model_slot = &ModelTensors::final_norm});
  if (!config.tie_embeddings) {
    all.push_back({.name = kHead, .shape = table, .model_slot = &ModelTensors::lm_head});
  }
  return all;
}

bool stores_own_lm_head(const Checkpoint& checkpoint) {
  const Checkpoint::Located head = checkpoint.find(kHead), table = checkpoint.find(kTable);
  if (!head || !table) return false;
  const std::span<const std::byte> a = head.file->bytes(*head.entry);
  const std::span<const std::byte> b = table.file->bytes(*table.entry);
  return head.entry->dtype_name != table.entry->dtype_name || a.size() != b.size() ||
         std::memcmp(a.data(), b.data(), a.size()) != 0;
}

ModelTensors gather_tensors(const Checkpoint& checkpoint, const ModelConfig& config) {
  const std::vector<ExpectedTensor> expected = expected_tensors(config);
  ModelTensors out;
  out.layers.resize(static_cast<std::size_t>(config.layers));
  for (const ExpectedTensor& each : expected) {
    HostTensor tensor = checked(checkpoint, each);
    if (each.role == TensorRole::matrix) {
      if (!out.embed) out.dtype = tensor.dtype;  // the embedding table comes first
      if (tensor.dtype != out.dtype) {
        throw fault(
            checkpoint.find(each.name).file->path(), each.name,
            fmt::format("is {} and model.embed_tokens.weight is {}; convert all matrices to "
                        "one dtype",
                        to_string(tensor.dtype), to_string(out.dtype)));
      }
    }
    if (each.layer >= 0) {
      out.layers[static_cast<std::size_t>(each.layer)].*each.layer_slot = std::move(tensor);
    } else {
      out.*each.model_slot = std::move(tensor);
    }
  }
  if (config.tie_embeddings) out.lm_head = out.embed;
  refuse_contradictions(checkpoint, config, expected);
  return out;
}

std::int64_t parameter_count(const ModelConfig& config) {
  std::int64_t count = 0;
  for (const LayerPart& part : layer_parts(config)) count += part.shape.elements();
  count = count * config.layers + config.hidden_size;
  return count + config.vocabulary * config.hidden_size * (config.tie_embeddings ? 1 : 2);
}

std::int64_t weight_bytes_per_step(const ModelConfig& config, DType dtype) {
  const std::int64_t table = config.vocabulary * config.hidden_size;
  const std::int64_t unread = config.tie_embeddings ? 0 : table;
  return (parameter_count(config) - unread) * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace reprise
