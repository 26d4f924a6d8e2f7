// SPDX-License-Identifier: Apache-2.0
#include "model/presets.h"

#include <array>

namespace reprise {
namespace {

struct Preset {
  std::string_view name;
  std::int64_t hidden, intermediate, layers, heads, kv_heads, vocabulary, max_positions;
  double theta;
  std::int32_t bos, eos;
};

constexpr std::array<Preset, 4> kPresets{{
    {"llama-2-7b", 4096, 11008, 32, 32, 32, 32000, 4096, 1e4, 1, 2},
    {"llama-2-13b", 5120, 13824, 40, 40, 40, 32000, 4096, 1e4, 1, 2},
    {"tinyllama-1.1b", 2048, 5632, 22, 32, 4, 32000, 2048, 1e4, 1, 2},
    {"llama-3-8b", 4096, 14336, 32, 32, 8, 128256, 8192, 5e5, 128000, 128001},
}};

ModelConfig to_config(const Preset& preset) {
  ModelConfig out;
  out.architecture = "LlamaForCausalLM";
  out.hidden_size = preset.hidden;
  out.intermediate_size = preset.intermediate;
  out.layers = preset.layers;
  out.heads = preset.heads;
  out.kv_heads = preset.kv_heads;
  out.head_dim = preset.hidden / preset.heads;
  out.vocabulary = preset.vocabulary;
  out.max_positions = preset.max_positions;
  out.rms_norm_eps = 1e-5;
  out.rope.theta = preset.theta;
  out.dtype = DType::bf16;
  out.bos = preset.bos;
  out.eos = {preset.eos};
  out.windows.assign(static_cast<std::size_t>(preset.layers), 0);
  return out;
}

}  // namespace

std::optional<ModelConfig> find_preset(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return to_config(preset);
  }
  return std::nullopt;
}

std::string preset_names() {
  std::string list;
  for (const Preset& preset : kPresets) {
    if (!list.empty()) list += ", ";
    list += preset.name;
  }
  return list;
}

}  // namespace reprise
