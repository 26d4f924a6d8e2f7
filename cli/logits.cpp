// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include <reprise/error.h>

#include "commands.h"
#include "engine/decoder.h"
#include "model/safetensors.h"
#include "prompt.h"

namespace reprise::cli {
namespace {

std::vector<float> by_prefill(Decoder& decoder, std::span<const std::int32_t> tokens) {
  std::vector<float> all;
  all.reserve(tokens.size() * static_cast<std::size_t>(decoder.model().config().vocabulary));
  Sequence sequence = decoder.new_sequence();
  decoder.prefill(sequence, tokens, {}, [&](std::span<const float> logits) {
    all.insert(all.end(), logits.begin(), logits.end());
  });
  return all;
}

std::vector<float> by_steps(Decoder& decoder, std::span<const std::int32_t> tokens, RunMode mode) {
  const auto vocabulary = static_cast<std::size_t>(decoder.model().config().vocabulary);
  std::vector<float> all(tokens.size() * vocabulary);
  Sequence sequence = decoder.new_sequence();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const DecodeRow row{.sequence = &sequence, .token = tokens[i], .sampling = {}};
    const RunResult result = decoder.step(std::span(&row, 1), mode);
    if (mode == RunMode::automatic && result.path != RunPath::replay) {
      throw Error(
          "the step was not replayed, so that --mode graph has no answer; use --mode eager");
    }
    decoder.read_logits(std::span(all).subspan(i * vocabulary, vocabulary));
  }
  return all;
}

}  // namespace

int logits(const LogitsOptions& options) {
  const std::shared_ptr<Device> device = Device::open(options.device);
  const ModelSource source = open_model(options.model);
  check_prompt(source.config, options.tokens);
  const auto positions = static_cast<std::int64_t>(options.tokens.size());
  DecoderOptions decoder_options;
  decoder_options.sizes = {1};
  decoder_options.max_context = positions;
  Decoder decoder(device, source, decoder_options);
  if (options.mode == LogitsMode::graph) decoder.record();
  const std::vector<float> all =
      options.mode == LogitsMode::prefill
          ? by_prefill(decoder, options.tokens)
          : by_steps(decoder, options.tokens,
                     options.mode == LogitsMode::graph ? RunMode::automatic : RunMode::eager);
  const HostTensor tensor{.name = "logits",
                          .dtype = DType::f32,
                          .shape = Shape{positions, source.config.vocabulary},
                          .data = all.data(),
                          .owner = nullptr};
  write_safetensors(options.out, std::span(&tensor, 1));
  return 0;
}

}  // namespace reprise::cli
