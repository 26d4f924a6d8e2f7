// SPDX-License-Identifier: Apache-2.0
#include "engine/generate.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include <reprise/error.h>

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

std::int32_t decode_one(Decoder& decoder, Sequence& sequence, std::int32_t token,
                        const GenerateRequest& request, GenerateResult& result) {
  const auto start = Clock::now();
  const DecodeRow row{.sequence = &sequence, .token = token, .sampling = request.sampling};
  decoder.step(std::span(&row, 1), request.mode);
  std::int32_t next = 0;
  decoder.read_next(std::span(&next, 1));
  ++result.decode_steps;
  result.decode_ms += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return next;
}

}  // namespace

std::string_view to_string(FinishReason reason) noexcept {
  constexpr std::array<std::string_view, 4> kNames{"max_tokens", "eos", "stop", "context"};
  return kNames[static_cast<std::size_t>(reason)];
}

GenerateResult generate(Decoder& decoder, const GenerateRequest& request, const TokenSink& sink) {
  if (request.max_tokens < 0) {
    throw UsageError(fmt::format("max_tokens is {}; it must be 0 or more", request.max_tokens));
  }
  GenerateResult result;
  Sequence sequence = decoder.new_sequence();
  std::int32_t token = decoder.prefill(sequence, request.prompt, request.sampling);
  const std::int64_t room = decoder.max_context() - sequence.length();
  const std::int64_t most = std::min(request.max_tokens, room);
  result.reason = request.max_tokens > room ? FinishReason::context : FinishReason::max_tokens;
  for (std::int64_t made = 0; made < most; ++made) {
    if (made > 0) token = decode_one(decoder, sequence, token, request, result);
    result.ids.push_back(token);
    const bool wanted = !sink || sink(token);
    if (std::find(request.eos.begin(), request.eos.end(), token) != request.eos.end()) {
      result.reason = FinishReason::eos;
      break;
    }
    if (!wanted) {
      result.reason = FinishReason::stop;
      break;
    }
  }
  return result;
}

}  // namespace reprise
