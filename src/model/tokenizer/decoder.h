// SPDX-License-Identifier: Apache-2.0
// From token strings back to text, one token at a time. Whole texts are decoded by the same steps
// as streams, so the two cannot disagree.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/json_field.h"

namespace reprise::tokenizer {

/// Takes token strings, each in one or more portions of whole characters.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void text(std::string_view portion) = 0;
  virtual void end_token() = 0;
  /// No more tokens: whatever was kept back goes on now.
  virtual void finish() = 0;
};

/// The steps of a tokenizer's decoder. Immutable and thread safe once read.
class Decoder {
 public:
  /// Reads `decoder` of tokenizer.json; where there is none, tokens are joined by spaces. Throws
  /// ModelError for a type that is not supported or a malformed one.
  static Decoder read(const JsonField& field);

  /// One text being decoded. Not thread safe; the decoder must outlive it.
  class Run {
   public:
    explicit Run(const Decoder& decoder);
    void token(std::string_view token);
    void finish() { first_->finish(); }
    /// The text that is certain so far and has not been taken.
    std::string take();

   private:
    class Text final : public TokenSink {
     public:
      void text(std::string_view portion) override { value += portion; }
      void end_token() override {}
      void finish() override {}
      std::string value;
    };
    std::unique_ptr<Text> text_;
    std::vector<std::unique_ptr<TokenSink>> steps_;  // last step first
    TokenSink* first_;
  };

 private:
  /// Makes the state of one step, which hands on to `next`.
  using Step = std::function<std::unique_ptr<TokenSink>(TokenSink& next)>;
  static void read_steps(const JsonField& field, std::vector<Step>& steps);

  std::vector<Step> steps_;
};

}  // namespace reprise::tokenizer
