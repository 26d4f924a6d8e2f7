// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include <reprise/error.h>

#include "commands.h"
#include "engine/decoder.h"
#include "model/safetensors.h"
#include "open_device.h"
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

/// How the steps of a mode must have run; a fallback would be another mode's answer.
RunPath path_of(LogitsMode mode) {
  if (mode == LogitsMode::graph) return RunPath::replay;
  return mode == LogitsMode::fake ? RunPath::fake : RunPath::eager;
}

std::vector<float> by_steps(Decoder& decoder, std::span<const std::int32_t> tokens,
                            LogitsMode mode) {
  const auto vocabulary = static_cast<std::size_t>(decoder.model().config().vocabulary);
  std::vector<float> all(tokens.size() * vocabulary);
  Sequence sequence = decoder.new_sequence();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const DecodeRow row{.sequence = &sequence, .token = tokens[i], .sampling = {}};
    const RunMode how = mode == LogitsMode::eager ? RunMode::eager : RunMode::automatic;
    if (decoder.step(std::span(&row, 1), how).path != path_of(mode)) {
      throw Error("the step was not replayed, so that this --mode has no answer; use --mode eager");
    }
    decoder.read_logits(std::span(all).subspan(i * vocabulary, vocabulary));
  }
  return all;
}

}  // namespace

int logits(const LogitsOptions& options) {
  const std::shared_ptr<Device> device = open_device(options.device);
  const ModelSource source = open_model(options.model);
  check_prompt(source.config, options.tokens);
  const auto positions = static_cast<std::int64_t>(options.tokens.size());
  DecoderOptions decoder_options;
  decoder_options.programmatic_launch = options.programmatic_launch;
  decoder_options.sizes = {1};
  decoder_options.max_context = positions;
  if (options.mode == LogitsMode::fake) decoder_options.record_mode = RecordMode::fake;
  Decoder decoder(device, source, decoder_options);
  if (path_of(options.mode) != RunPath::eager) decoder.record();
  const std::vector<float> all = options.mode == LogitsMode::prefill
                                     ? by_prefill(decoder, options.tokens)
                                     : by_steps(decoder, options.tokens, options.mode);
  const HostTensor tensor{.name = "logits",
                          .dtype = DType::f32,
                          .shape = Shape{positions, source.config.vocabulary},
                          .data = all.data(),
                          .owner = nullptr};
  write_safetensors(options.out, std::span(&tensor, 1));
  return 0;
}

}  // namespace reprise::cli
