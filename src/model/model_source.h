// SPDX-License-Identifier: Apache-2.0
// What a MODEL argument stands for: a Hugging Face folder, or `random:NAME` for seeded random
// weights in the shape of a preset or of a config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "model/config.h"
#include "model/weights.h"

namespace reprise {

struct ModelSource {
  ModelConfig config;
  GenerationDefaults generation;
  /// A folder's weights, all checked. Each tensor keeps its file mapped. Nothing for random models:
  /// the device makes those in place (expected_tensors, core/random_weights.h), always in bf16.
  std::optional<ModelTensors> tensors;
  std::optional<Checkpoint> checkpoint;  ///< for prefetch(); set whenever tensors is
  bool random = false;
  std::uint64_t seed = 0;        ///< of random weights
  std::filesystem::path folder;  ///< where tokenizer.json may lie; empty for a preset
  std::string argument;          ///< as given

  DType dtype() const noexcept { return tensors ? tensors->dtype : DType::bf16; }
};

/// Opens what `argument` names; `seed` is for random weights. Reads only headers and JSON files,
/// and an lm_head to see whether it is the embedding table, which decides over
/// config.tie_embeddings; throws ModelError naming what is missing or wrong.
ModelSource open_model(std::string_view argument, std::uint64_t seed = 0);

}  // namespace reprise
