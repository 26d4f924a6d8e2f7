// SPDX-License-Identifier: Apache-2.0
#include "engine/generate.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <reprise/error.h>

#include "commands.h"
#include "core/json_writer.h"
#include "core/log.h"
#include "engine/stop_text.h"
#include "open_device.h"
#include "output.h"
#include "prompt.h"

namespace reprise::cli {
namespace {

// The text of the continuation, shown as it becomes certain (or, where only ids are wanted, made
// but not shown: stop texts end those too).
class TextOut {
 public:
  TextOut(Tokenizer tokenizer, std::span<const std::int32_t> prompt, std::vector<std::string> stops,
          bool show)
      : decoder_(std::move(tokenizer), prompt), stop_(std::move(stops)), show_(show) {}

  /// False once a stop text has come.
  bool push(std::int32_t id) {
    put(stop_.push(decoder_.push(id)));
    return !stop_.stopped();
  }
  void finish() {
    put(stop_.push(decoder_.flush()));
    put(stop_.flush());
    if (show_) write_out("\n");  // the answer is a line of text, as --print-ids gives a line of ids
  }

 private:
  void put(const std::string& text) const {
    if (show_ && !text.empty()) write_out(text);
  }

  StreamDecoder decoder_;
  StopText stop_;
  bool show_;
};

// A step that cannot be recorded still gives the text: eagerly, and the statistics count it.
double record_if_wanted(Decoder& decoder, const GenerateOptions& options) {
  if (options.eager) return 0;
  try {
    const RecordReport report = decoder.record();
    return 1000 * (report.warm_up_seconds + report.record_seconds + report.self_test_seconds);
  } catch (const Error& fault) {
    if (decoder.device().lost()) throw;
    stderr_sink()(std::string("the decode step could not be recorded: ") + fault.what());
    return 0;
  }
}

std::string device_name(Device& device) {
  return device.kind() == DeviceKind::host ? "host" : device.label();
}

/// Only where there were any: most devices have no such thing.
void write_kernel_fallbacks(JsonWriter& json, Decoder& decoder) {
  const std::vector<KernelFallback> fallbacks = decoder.ops().kernel_fallbacks();
  if (fallbacks.empty()) return;
  json.key("kernel_fallbacks").begin_object();
  for (const KernelFallback& fallback : fallbacks) json.member(fallback.reason, fallback.calls);
  json.end_object();
}

std::string statistics(const GenerateOptions& options, Decoder& decoder,
                       const GenerateResult& result, double record_ms) {
  const PoolCounters counters = decoder.pool().counters();
  JsonWriter json;
  json.begin_object().member("replays", counters.replays);
  if (options.fake_record) json.member("fake_replays", counters.fake_replays);
  json.member("eager_steps", counters.eager_steps)
      .member("prefill_steps", decoder.prefill_steps())
      .member("padded_rows", counters.padded_rows)
      .key("fallbacks")
      .begin_object();
  for (std::size_t i = 0; i < counters.fallbacks.size(); ++i) {
    if (counters.fallbacks[i] == 0) continue;
    json.member(to_string(static_cast<FallbackReason>(i)), counters.fallbacks[i]);
  }
  json.end_object();
  write_kernel_fallbacks(json, decoder);
  const auto steps = static_cast<double>(result.decode_steps);
  json.member("record_ms", record_ms)
      .member("ms_per_token", steps > 0 ? result.decode_ms / steps : 0.0)
      .member("device", device_name(decoder.device()))
      .end_object();
  return json.text();
}

GenerateRequest make_request(const GenerateOptions& options, const ModelSource& source,
                             const std::optional<Tokenizer>& tokenizer) {
  GenerateRequest request;
  request.prompt = options.tokens ? *options.tokens
                                  : prompt_ids(source, *tokenizer, options.prompt.value_or(""));
  check_prompt(source.config, request.prompt);
  request.max_tokens = options.max_tokens;
  if (!options.ignore_eos) request.eos = source.generation.eos;
  const double temperature =
      options.temperature.value_or(source.generation.temperature.value_or(0));
  request.sampling = {.temperature = static_cast<float>(temperature),
                      .seed = static_cast<std::int64_t>(options.seed)};
  request.mode = options.eager ? RunMode::eager : RunMode::automatic;
  return request;
}

DecoderOptions decoder_options(const GenerateOptions& wanted, const ModelConfig& config,
                               const GenerateRequest& request) {
  DecoderOptions options;
  if (wanted.fake_record) options.record_mode = RecordMode::fake;
  options.programmatic_launch = wanted.programmatic_launch;
  options.max_batch = 1;
  options.sizes = {1};
  // No more cache than this text can need.
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  options.max_context = prompt + std::min(request.max_tokens, config.max_positions - prompt);
  return options;
}

}  // namespace

int generate(const GenerateOptions& options) {
  const std::shared_ptr<Device> device = open_device(options.device);
  const ModelSource source = open_model(options.model);
  std::optional<Tokenizer> tokenizer;
  if (options.prompt || !options.print_ids || !options.stop.empty()) {
    tokenizer = load_tokenizer(source);
  }
  const GenerateRequest request = make_request(options, source, tokenizer);
  Decoder decoder(device, source, decoder_options(options, source.config, request));
  const double record_ms = record_if_wanted(decoder, options);

  std::optional<TextOut> text;
  if (tokenizer) text.emplace(*tokenizer, request.prompt, options.stop, !options.print_ids);
  const auto& eos = request.eos;
  const GenerateResult result = reprise::generate(decoder, request, [&](std::int32_t id) {
    const bool ends = std::find(eos.begin(), eos.end(), id) != eos.end();
    return ends || !text || text->push(id);
  });
  if (text) text->finish();
  if (options.print_ids) write_out(JsonWriter().array(result.ids).text() + "\n");
  if (result.reason == FinishReason::context) {
    stderr_sink()("the text ends here because the model's context is full: " +
                  std::to_string(source.config.max_positions) + " tokens");
  }
  if (options.stats) write_err(statistics(options, decoder, result, record_ms) + "\n");
  return 0;
}

}  // namespace reprise::cli
