// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back, as a model folder's tokenizer.json says, id for id what the Hugging
// Face library does. Byte pair encoding only: byte-level (GPT-2, Llama 3, Qwen) and with byte
// fallback (Llama 2, Mistral). Where that library silently gives an added token another id than the
// file says, the file is refused instead, or (where the id is free) believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// Immutable; every member may be called from any thread. Copies are cheap and share everything.
class Tokenizer {
 public:
  /// Reads `folder`/tokenizer.json. Throws ModelError, one line that names file and field, where
  /// the file is missing, malformed, or asks for something that is not supported.
  static Tokenizer load(const std::filesystem::path& folder);

  /// The ids of a text. The text of special tokens is always recognised; `add_special` says whether
  /// the template's own ones (such as the beginning of the text) are put round it. Bytes that are
  /// not UTF-8 count as U+FFFD, one for each maximal ill-formed sequence. Time is linear in the
  /// length, but for a logarithm in the length of the longest word.
  std::vector<std::int32_t> encode(std::string_view text, bool add_special) const;

  /// The text of ids, always valid UTF-8: what is not becomes U+FFFD. Ids without a token vanish,
  /// and with `skip_special` special tokens do.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special) const;

  /// One more than the highest id (gaps count).
  std::size_t vocabulary_size() const noexcept;
  /// Id of exactly this token, in the vocabulary's own spelling (such as "Ġthe" or "▁the").
  std::optional<std::int32_t> token_id(std::string_view token) const;
  /// The spelling of an id; none where it has no token.
  std::optional<std::string> token(std::int32_t id) const;
  bool is_special(std::int32_t id) const;

 private:
  friend class StreamDecoder;
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;
};

/// Decodes a continuation while it is being generated. All that is handed out, put together, is the
/// text that decode(prompt + continuation) has beyond decode(prompt), special tokens skipped: a
/// space after the prompt stays, one at the start of the whole text goes where decode drops it.
/// Never hands out half a character. Time is linear in the ids fed. Not thread safe.
class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer, std::span<const std::int32_t> prompt = {});
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  /// The text that has become certain by this id; often empty (a character may need several ids,
  /// and a run of byte tokens is known only at its end).
  std::string push(std::int32_t id);
  /// The end: what was kept back, U+FFFD for what never became a character. Nothing may be pushed
  /// afterwards.
  std::string flush();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise
