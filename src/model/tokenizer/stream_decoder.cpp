// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "model/tokenizer/parts.h"
#include "model/tokenizer/tokenizer.h"

namespace reprise {

struct StreamDecoder::State {
  explicit State(Tokenizer of) : tokenizer(std::move(of)), run(tokenizer.parts_->decoder) {}

  void feed(std::int32_t id) {
    if (const auto text = tokenizer.parts_->visible(id, true)) run.token(*text);
  }

  /// What `run` has made certain, less the prompt's own text.
  std::string continuation() {
    std::string text = run.take();
    std::size_t same = 0;
    while (same < text.size() && same < owed.size() && text[same] == owed[same]) ++same;
    if (same == text.size()) {
      owed.erase(0, same);
      return {};
    }
    if (same < owed.size()) {
      // The continuation has changed the prompt's end (it completed a character): begin with that.
      while (same > 0 && (static_cast<unsigned char>(text[same]) & 0xC0) == 0x80) --same;
    }
    owed.clear();
    return text.substr(same);
  }

  Tokenizer tokenizer;
  tokenizer::Decoder::Run run;
  std::string owed;  // end of the prompt's text, which the steps still keep back
};

StreamDecoder::StreamDecoder(Tokenizer tokenizer, std::span<const std::int32_t> prompt)
    : state_(std::make_unique<State>(std::move(tokenizer))) {
  for (const std::int32_t id : prompt) state_->feed(id);
  const std::size_t certain = state_->run.take().size();
  state_->owed = state_->tokenizer.decode(prompt, true).substr(certain);
}

StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

std::string StreamDecoder::push(std::int32_t id) {
  state_->feed(id);
  return state_->continuation();
}

std::string StreamDecoder::flush() {
  state_->run.finish();
  return state_->continuation();
}

}  // namespace reprise
