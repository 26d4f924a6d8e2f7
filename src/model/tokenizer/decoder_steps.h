// SPDX-License-Identifier: Apache-2.0
// The steps that decoders are made of. Each hands on to `next`, which must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "model/tokenizer/decoder.h"
#include "model/tokenizer/pattern.h"

namespace reprise::tokenizer {

class DecoderStep : public TokenSink {
 public:
  explicit DecoderStep(TokenSink& next) : next_(next) {}
  void finish() override { next_.finish(); }

 protected:
  void hand_on(std::string_view token) {
    next_.text(token);
    next_.end_token();
  }
  TokenSink& next_;
};

/// A step that needs to see a whole token at once.
class WholeTokenStep : public DecoderStep {
 public:
  using DecoderStep::DecoderStep;
  void text(std::string_view portion) final { held_ += portion; }
  void end_token() final {
    whole(held_);
    held_.clear();
  }

 protected:
  virtual void whole(std::string_view token) = 0;

 private:
  std::string held_;
};

/// No decoder at all: tokens with a space between them.
class JoinStep final : public WholeTokenStep {
 public:
  using WholeTokenStep::WholeTokenStep;

 protected:
  void whole(std::string_view token) override;

 private:
  bool first_ = true;
};

/// Characters of the byte alphabet become bytes; a token with any other character stands for
/// itself. All tokens together become one.
class ByteLevelStep final : public WholeTokenStep {
 public:
  using WholeTokenStep::WholeTokenStep;
  void finish() override;

 protected:
  void whole(std::string_view token) override;

 private:
  Utf8Repair repair_;
};

/// Tokens "<0x41>" become bytes. A run of them that is not UTF-8 as a whole becomes one U+FFFD per
/// byte, so the run is held until it ends.
class ByteFallbackStep final : public WholeTokenStep {
 public:
  using WholeTokenStep::WholeTokenStep;
  void finish() override;

 protected:
  void whole(std::string_view token) override;

 private:
  void release();
  std::string bytes_;
};

/// All tokens together become one.
class FuseStep final : public DecoderStep {
 public:
  using DecoderStep::DecoderStep;
  void text(std::string_view portion) override { next_.text(portion); }
  void end_token() override {}
  void finish() override;
};

/// Replaces a fixed string; holds back only what could be its beginning.
class ReplaceTextStep final : public DecoderStep {
 public:
  ReplaceTextStep(TokenSink& next, std::string sought, std::string content)
      : DecoderStep(next), sought_(std::move(sought)), content_(std::move(content)) {}
  void text(std::string_view portion) override;
  void end_token() override;

 private:
  std::string sought_;  // not empty
  std::string content_;
  std::string held_;
};

class ReplacePatternStep final : public WholeTokenStep {
 public:
  ReplacePatternStep(TokenSink& next, const Pattern& pattern, std::string content)
      : WholeTokenStep(next), pattern_(pattern), content_(std::move(content)) {}

 protected:
  void whole(std::string_view token) override { hand_on(replaced(token, pattern_, content_)); }

 private:
  Pattern pattern_;
  std::string content_;
};

struct StripOptions {
  char32_t content;
  std::uint64_t start;  ///< at most so many are taken off a token's start
  std::uint64_t stop;   ///< and its end
};

class StripStep final : public DecoderStep {
 public:
  StripStep(TokenSink& next, const StripOptions& options) : DecoderStep(next), options_(options) {}
  void text(std::string_view portion) override;
  void end_token() override;

 private:
  StripOptions options_;
  bool at_start_ = true;
  std::uint64_t stripped_ = 0;
  std::uint64_t held_ = 0;  // trailing characters that may have to go
};

/// Marks become spaces; the first token's vanish where words are given a mark in front.
class MetaspaceStep final : public DecoderStep {
 public:
  MetaspaceStep(TokenSink& next, char32_t mark, bool drop_first)
      : DecoderStep(next), mark_(mark), drop_(drop_first) {}
  void text(std::string_view portion) override;
  void end_token() override;

 private:
  char32_t mark_;
  bool drop_;
};

/// The end-of-word suffix becomes a space, but for the last token's.
class SuffixStep final : public WholeTokenStep {
 public:
  SuffixStep(TokenSink& next, std::string suffix)
      : WholeTokenStep(next), suffix_(Pattern::literal(std::move(suffix))) {}
  void finish() override;

 protected:
  void whole(std::string_view token) override;

 private:
  Pattern suffix_;
  std::optional<std::string> last_;
};

}  // namespace reprise::tokenizer
