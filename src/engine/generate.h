// SPDX-License-Identifier: Apache-2.0
// One sequence from its prompt to its end: prefill, then decode steps, one row each.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/decoder.h"

namespace reprise {

enum class FinishReason : std::uint8_t {
  max_tokens,  ///< as many tokens as were asked for
  eos,         ///< the model ended its text
  stop,        ///< the caller had enough
  context,     ///< prompt and continuation fill the decoder's context
};
std::string_view to_string(FinishReason reason) noexcept;

struct GenerateRequest {
  std::vector<std::int32_t> prompt;
  std::int64_t max_tokens = 0;         ///< 0 or more
  std::vector<std::int32_t> eos = {};  ///< any of these ends the text; empty: none does
  Sampling sampling = {};
  RunMode mode = RunMode::automatic;  ///< of the decode steps
};

struct GenerateResult {
  FinishReason reason = FinishReason::max_tokens;
  std::vector<std::int32_t> ids;   ///< the continuation; ends with the eos token where one came
  std::uint64_t decode_steps = 0;  ///< the first token comes from prefill, each later one from one
  double decode_ms = 0;            ///< wall time of the decode steps, the callback's not counted
};

/// Called with each new token, the eos token too, as soon as it is known; false ends generation.
using TokenSink = std::function<bool(std::int32_t id)>;

/// Throws UsageError for an empty prompt, one above the decoder's context, a token outside the
/// vocabulary or a negative max_tokens, and what the device throws; an exception of `sink` goes on.
/// Blocks; the sequence's cache pages are given back at the end. Needs a decoder with a free place.
GenerateResult generate(Decoder& decoder, const GenerateRequest& request,
                        const TokenSink& sink = {});

}  // namespace reprise
