// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/decoder.h"

#include <utility>

#include "model/tokenizer/decoder_steps.h"
#include "model/tokenizer/metaspace.h"
#include "model/tokenizer/read_pattern.h"

namespace reprise::tokenizer {
namespace {

/// A factory of one kind of step, with the arguments it needs besides the next step.
template <class Step, class... Arguments>
std::function<std::unique_ptr<TokenSink>(TokenSink&)> step(Arguments... arguments) {
  return [arguments...](TokenSink& next) { return std::make_unique<Step>(next, arguments...); };
}

}  // namespace

Decoder Decoder::read(const JsonField& field) {
  Decoder decoder;
  if (field.is_null()) {
    decoder.steps_.push_back(step<JoinStep>());
  } else {
    read_steps(field, decoder.steps_);
  }
  return decoder;
}

void Decoder::read_steps(const JsonField& field, std::vector<Step>& steps) {
  const std::string type = field["type"].text();
  if (type == "Sequence") {
    field["decoders"].each_element([&](const JsonField& part) { read_steps(part, steps); });
  } else if (type == "ByteLevel") {
    steps.push_back(step<ByteLevelStep>());
  } else if (type == "ByteFallback") {
    steps.push_back(step<ByteFallbackStep>());
  } else if (type == "Fuse") {
    steps.push_back(step<FuseStep>());
  } else if (type == "Replace") {
    const Pattern pattern = read_pattern(field["pattern"]);
    const std::string content = field["content"].text();
    const auto& fixed = pattern.literal_text();
    if (fixed && !fixed->empty()) {
      steps.push_back(step<ReplaceTextStep>(*fixed, content));
    } else {
      steps.push_back(step<ReplacePatternStep>(pattern, content));
    }
  } else if (type == "Strip") {
    steps.push_back(step<StripStep>(
        StripOptions{field["content"].character(), field["start"].count(), field["stop"].count()}));
  } else if (type == "Metaspace") {
    const MetaspaceOptions options = read_metaspace(field);
    steps.push_back(
        step<MetaspaceStep>(options.replacement, options.scheme != PrependScheme::never));
  } else if (type == "BPEDecoder") {
    steps.push_back(step<SuffixStep>(field["suffix"].text()));
  } else {
    field["type"].fail("is \"" + type +
                       "\", a decoder that is not supported (supported: Sequence, ByteLevel, "
                       "ByteFallback, Fuse, Replace, Strip, Metaspace, BPEDecoder)");
  }
}

Decoder::Run::Run(const Decoder& decoder) : text_(std::make_unique<Text>()), first_(text_.get()) {
  for (auto step = decoder.steps_.rbegin(); step != decoder.steps_.rend(); ++step) {
    steps_.push_back((*step)(*first_));
    first_ = steps_.back().get();
  }
}

void Decoder::Run::token(std::string_view token) {
  first_->text(token);
  first_->end_token();
}

std::string Decoder::Run::take() { return std::exchange(text_->value, {}); }

}  // namespace reprise::tokenizer
