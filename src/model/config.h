// SPDX-License-Identifier: Apache-2.0
// What config.json and generation_config.json of a Llama-family folder say, checked and in one
// spelling. Plain values: copy freely, any thread may read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/dtype.h>

namespace reprise {

/// Rotary position embedding: frequency i of head_dim/2 is theta^(-2i/head_dim), then scaled by
/// type.
struct RopeConfig {
  enum class Type : std::uint8_t {
    standard,  ///< "default": not scaled
    linear,    ///< every frequency divided by factor
    llama3,    ///< low frequencies divided by factor, high ones kept, a smooth step between
  };
  Type type = Type::standard;
  double theta = 10000;  ///< > 0
  double factor = 1;     ///< >= 1; linear and llama3
  // llama3 only: wavelengths above original_max_positions / low_freq_factor are scaled, those below
  // original_max_positions / high_freq_factor are kept.
  double low_freq_factor = 1;   ///< > 0
  double high_freq_factor = 4;  ///< > low_freq_factor
  std::int64_t original_max_positions = 0;
};

struct ModelConfig {
  std::string architecture;  ///< "LlamaForCausalLM", "MistralForCausalLM" or "Qwen2ForCausalLM"
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;     ///< query heads
  std::int64_t kv_heads = 0;  ///< divides heads
  std::int64_t head_dim = 0;  ///< even; heads * head_dim need not be hidden_size
  std::int64_t vocabulary = 0;
  std::int64_t max_positions = 0;
  double rms_norm_eps = 1e-6;
  RopeConfig rope;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;        ///< gate, up and down
  bool tie_embeddings = false;  ///< logits use the embedding table
  std::optional<DType> dtype;   ///< as stated; the stored tensors decide
  std::optional<std::int32_t> bos;
  std::vector<std::int32_t> eos;  ///< any of these ends the text; may be empty
  std::optional<std::int32_t> pad;
  /// [layers]: a position attends to that many latest positions, itself included; 0: to all.
  std::vector<std::int64_t> windows;

  std::int64_t query_size() const noexcept { return heads * head_dim; }
  std::int64_t kv_size() const noexcept { return kv_heads * head_dim; }
};

/// How text is generated unless the caller says otherwise. bos and eos: generation_config.json's
/// where it has them, else config.json's.
struct GenerationDefaults {
  std::optional<double> temperature;  ///< nothing: greedy
  std::optional<std::int32_t> bos;
  std::vector<std::int32_t> eos;
  std::optional<std::int32_t> pad;
};

/// Reads and checks a config.json, in the new spelling (rope_parameters, dtype) or the old one
/// (rope_theta, rope_scaling, torch_dtype). Where a field is left out, what transformers' class of
/// that architecture takes instead holds, but sizes must be given. Throws ModelError naming file
/// and field; what this project cannot compute faithfully (another rope or activation, quantised
/// weights) is refused.
ModelConfig read_config(const std::filesystem::path& file);
/// The same from text; `name` stands for the file in messages.
ModelConfig parse_config(std::string_view text, const std::string& name);

/// Defaults for `config`, from the generation_config.json at `file` if there is one. Its
/// temperature counts unless it says do_sample false.
GenerationDefaults read_generation(const std::filesystem::path& file, const ModelConfig& config);
GenerationDefaults parse_generation(std::string_view text, const std::string& name,
                                    const ModelConfig& config);

}  // namespace reprise
