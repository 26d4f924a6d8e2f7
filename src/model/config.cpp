// SPDX-License-Identifier: Apache-2.0
#include "model/config.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/text.h"
#include "model/config_fields.h"
#include "model/json.h"

namespace reprise {
namespace {

/// What transformers' configuration class of an architecture takes for fields that are left out.
struct Family {
  std::string_view architecture;
  std::string_view model_type;
  std::int64_t kv_heads;  ///< 0: as many as heads
  std::int64_t max_positions;
  bool has_default_tokens;  ///< bos 1, eos 2
};

constexpr std::array<Family, 3> kFamilies{{
    {"LlamaForCausalLM", "llama", 0, 2048, true},
    {"MistralForCausalLM", "mistral", 8, 4096 * 32, true},
    {"Qwen2ForCausalLM", "qwen2", 32, 32768, false},
}};

constexpr std::int64_t kDefaultWindow = 4096;         // Mistral's and Qwen2's
constexpr std::int64_t kDefaultMaxWindowLayers = 28;  // Qwen2's

std::string supported() {
  std::string list;
  for (const Family& family : kFamilies) {
    list += (list.empty() ? "" : ", ") + std::string(family.architecture);
  }
  return list;
}

const Family& find_family(const JsonValue& root) {
  std::optional<JsonValue> stated;
  if (const auto list = root.find("architectures")) {
    const std::vector<JsonValue> items = list->items();
    if (!items.empty()) stated = items.front();
  }
  const std::optional<JsonValue> model_type = root.find("model_type");
  if (!stated && !model_type) (void)root.at("architectures");  // throws: missing
  const Family* found = nullptr;
  for (const Family& family : kFamilies) {
    if (stated ? stated->string() == family.architecture
               : model_type->string() == family.model_type) {
      found = &family;
    }
  }
  if (found == nullptr) {
    throw(stated ? *stated : *model_type).error("a supported architecture: " + supported());
  }
  if (model_type && model_type->string() != found->model_type) {
    throw model_type->error(
        fmt::format("\"{}\", as architectures says {}", found->model_type, found->architecture));
  }
  return *found;
}

void refuse_unsupported(const JsonValue& root) {
  for (const std::string_view key : {"quantization_config", "compression_config"}) {
    if (const auto found = root.find(key)) {
      throw found->error("absent (quantised weights are not supported)");
    }
  }
  const std::optional<JsonValue> activation = root.find("hidden_act");
  if (activation && activation->string() != "silu" && activation->string() != "swish") {
    throw activation->error("\"silu\", the only supported activation");
  }
}

std::int64_t integer_or(const JsonValue& root, std::string_view key, std::int64_t high,
                        std::int64_t otherwise) {
  const std::optional<JsonValue> value = root.find(key);
  return value ? value->integer(1, high) : otherwise;
}

bool flag(const JsonValue& root, std::string_view key) {
  const std::optional<JsonValue> value = root.find(key);
  return value && value->boolean();
}

void read_sizes(const JsonValue& root, const Family& family, ModelConfig& out) {
  out.hidden_size = root.at("hidden_size").integer(1, kMaxWidth);
  out.intermediate_size = root.at("intermediate_size").integer(1, kMaxWidth);
  out.layers = root.at("num_hidden_layers").integer(1, kMaxLayers);
  out.vocabulary = root.at("vocab_size").integer(1, kMaxVocabulary);
  out.max_positions =
      integer_or(root, "max_position_embeddings", kMaxPositions, family.max_positions);

  const JsonValue heads = root.at("num_attention_heads");
  out.heads = heads.integer(1, kMaxWidth);
  // Null means "as many as heads" everywhere; only a field that is not there takes the class
  // default.
  const bool takes_default = family.kv_heads > 0 && !root.contains("num_key_value_heads");
  out.kv_heads = integer_or(root, "num_key_value_heads", kMaxWidth,
                            takes_default ? family.kv_heads : out.heads);
  if (out.heads % out.kv_heads != 0) {
    throw heads.error(fmt::format("a multiple of num_key_value_heads {}", out.kv_heads));
  }
  const std::optional<JsonValue> head_dim = root.find("head_dim");
  if (!head_dim && out.hidden_size % out.heads != 0) {
    throw heads.error(
        fmt::format("a divisor of hidden_size {}, as head_dim is not given", out.hidden_size));
  }
  out.head_dim = head_dim ? head_dim->integer(1, kMaxWidth) : out.hidden_size / out.heads;
  if (out.head_dim % 2 != 0) {
    if (head_dim) throw head_dim->error("an even number");
    throw heads.error(
        fmt::format("such that hidden_size divided by it is even, not {}", out.head_dim));
  }
  if (out.query_size() > kMaxWidth) {
    throw heads.error(
        fmt::format("such that heads times head_dim {} is at most {}", out.head_dim, kMaxWidth));
  }
}

std::int64_t window_size(const JsonValue& root) {
  if (!root.contains("sliding_window")) return kDefaultWindow;
  return integer_or(root, "sliding_window", kMaxPositions, 0);
}

/// Qwen2 states which layers have a window, by a list or by the number of the first one.
std::vector<std::int64_t> qwen2_windows(const JsonValue& root, std::int64_t layers) {
  std::vector<std::int64_t> windows(static_cast<std::size_t>(layers), 0);
  const std::int64_t window = flag(root, "use_sliding_window") ? window_size(root) : 0;
  const std::optional<JsonValue> value = root.find("max_window_layers");
  const std::int64_t first = value ? value->integer(0, INT64_MAX) : kDefaultMaxWindowLayers;
  if (const auto list = root.find("layer_types")) {
    const std::vector<JsonValue> items = list->items();
    if (items.size() != windows.size()) {
      throw list->error(fmt::format("a list of num_hidden_layers {} entries", layers));
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].string() == "full_attention") continue;
      if (items[i].string() != "sliding_attention") {
        throw items[i].error("\"full_attention\" or \"sliding_attention\"");
      }
      if (window == 0) {
        throw items[i].error(
            "\"full_attention\", as use_sliding_window or sliding_window is not set");
      }
      windows[i] = window;
    }
    return windows;
  }
  for (std::int64_t i = std::min(first, layers); i < layers; ++i) {
    windows[static_cast<std::size_t>(i)] = window;
  }
  return windows;
}

void read_attention(const JsonValue& root, ModelConfig& out) {
  const auto layers = static_cast<std::size_t>(out.layers);
  if (out.architecture == "Qwen2ForCausalLM") {
    out.qkv_bias = true;
    out.windows = qwen2_windows(root, out.layers);
  } else if (out.architecture == "MistralForCausalLM") {
    out.windows.assign(layers, window_size(root));
  } else {
    out.qkv_bias = out.o_bias = flag(root, "attention_bias");
    out.mlp_bias = flag(root, "mlp_bias");
    out.windows.assign(layers, 0);
  }
}

std::optional<DType> read_dtype(const JsonValue& root) {
  std::optional<JsonValue> value = root.find("dtype");
  if (!value) value = root.find("torch_dtype");
  if (!value) return std::nullopt;
  if (value->string() == "float32") return DType::f32;
  if (value->string() == "float16") return DType::f16;
  if (value->string() == "bfloat16") return DType::bf16;
  throw value->error("\"float32\", \"float16\" or \"bfloat16\"");
}

void read_tokens(const JsonValue& root, const Family& family, ModelConfig& out) {
  out.bos = token_id(root, "bos_token_id", out.vocabulary);
  out.eos = token_ids(root, "eos_token_id", out.vocabulary).value_or(std::vector<std::int32_t>{});
  out.pad = pad_id(root, out.vocabulary);
  if (!family.has_default_tokens || out.vocabulary < 3) return;
  if (!root.contains("bos_token_id")) out.bos = 1;
  if (!root.contains("eos_token_id")) out.eos = {2};
}

ModelConfig to_config(const JsonValue& root) {
  ModelConfig out;
  const Family& family = find_family(root);
  out.architecture = family.architecture;
  refuse_unsupported(root);
  read_sizes(root, family, out);
  if (const auto eps = root.find("rms_norm_eps")) {
    out.rms_norm_eps = eps->number();
    // Must also survive as a float, in which kernels compute.
    if (!(out.rms_norm_eps > 0 && out.rms_norm_eps <= 1) ||
        !(static_cast<float>(out.rms_norm_eps) > 0)) {
      throw eps->error("a small positive number such as 1e-5");
    }
  }
  out.rope = read_rope(root);
  read_attention(root, out);
  out.tie_embeddings = flag(root, "tie_word_embeddings");
  out.dtype = read_dtype(root);
  read_tokens(root, family, out);
  return out;
}

GenerationDefaults to_generation(const JsonValue* root, const ModelConfig& config) {
  GenerationDefaults out{std::nullopt, config.bos, config.eos, config.pad};
  if (root == nullptr) return out;
  if (const auto bos = token_id(*root, "bos_token_id", config.vocabulary)) out.bos = bos;
  if (auto eos = token_ids(*root, "eos_token_id", config.vocabulary)) out.eos = std::move(*eos);
  if (const auto pad = pad_id(*root, config.vocabulary)) out.pad = pad;
  const std::optional<JsonValue> temperature = root->find("temperature");
  if (temperature && (!(temperature->number() >= 0) || temperature->number() > 100)) {
    throw temperature->error("a number from 0 to 100");
  }
  const std::optional<JsonValue> sample = root->find("do_sample");
  const bool greedy = sample && !sample->boolean();
  if (temperature && !greedy) out.temperature = temperature->number();
  return out;
}

}  // namespace

ModelConfig read_config(const std::filesystem::path& file) {
  return to_config(JsonFile::read(file).root());
}

ModelConfig parse_config(std::string_view text, const std::string& name) {
  return to_config(JsonFile::parse(text, name).root());
}

GenerationDefaults read_generation(const std::filesystem::path& file, const ModelConfig& config) {
  std::error_code ignored;
  // A link that leads nowhere is a broken download, not an absent file: reading it says so.
  if (std::filesystem::symlink_status(file, ignored).type() ==
      std::filesystem::file_type::not_found) {
    return to_generation(nullptr, config);
  }
  const JsonValue root = JsonFile::read(file).root();
  return to_generation(&root, config);
}

GenerationDefaults parse_generation(std::string_view text, const std::string& name,
                                    const ModelConfig& config) {
  const JsonValue root = JsonFile::parse(text, name).root();
  return to_generation(&root, config);
}

}  // namespace reprise
