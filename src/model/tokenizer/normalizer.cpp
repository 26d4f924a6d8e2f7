// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/normalizer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <reprise/error.h>

#include "core/utf8.h"
#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/read_pattern.h"
#include "model/tokenizer/unicode.h"

namespace reprise::tokenizer {
namespace {

/// Refuses a tokenizer whose replacements, alone or one after the other, make a short text fill the
/// memory. What real ones do (a space becomes three bytes, a ligature falls apart) stays far below.
class GrowthLimit {
 public:
  /// `place` is the normalizer's, for the message.
  GrowthLimit(const NormalText& text, const std::string& place)
      : most_(text.text.size() * kFactor + kSpareBytes), place_(place) {}
  void check(const NormalText& text) const {
    if (text.text.size() <= most_) return;
    throw ModelError(fmt::format("{} makes a text more than {} times as long; correct the file",
                                 place_, kFactor));
  }

 private:
  static constexpr std::size_t kFactor = 256;
  static constexpr std::size_t kSpareBytes = std::size_t{1} << 20;

  std::size_t most_;
  const std::string& place_;
};

/// `origin` after a change that keeps the first character where it was.
std::size_t first_character(const NormalText& text) {
  return text.origin == 0 || text.text.empty() ? 0 : character_length(text.text[0]);
}

class Sequence final : public Normalizer {
 public:
  Sequence(std::vector<std::unique_ptr<const Normalizer>> parts, std::string place)
      : parts_(std::move(parts)), place_(std::move(place)) {}
  void apply(NormalText& text) const override {
    const GrowthLimit limit(text, place_);
    for (const auto& part : parts_) {
      part->apply(text);
      limit.check(text);
    }
  }

 private:
  std::vector<std::unique_ptr<const Normalizer>> parts_;
  std::string place_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(NormalText& text) const override { prepend(text, prefix_); }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content, std::string place)
      : pattern_(std::move(pattern)), content_(std::move(content)), place_(std::move(place)) {}

  void apply(NormalText& text) const override {
    const GrowthLimit limit(text, place_);
    NormalText result;
    result.text.reserve(text.text.size());
    for (const Span& span : pattern_.find_all(text.text)) {
      if (span.matched) {
        result.text += content_;
        limit.check(result);
      } else {
        result.text.append(text.text, span.begin, span.end - span.begin);
      }
      if (span.end <= text.origin) {
        result.origin = result.text.size();
      } else if (span.begin < text.origin && !span.matched) {
        result.origin = result.text.size() - (span.end - text.origin);
      }
    }
    text = std::move(result);
  }

 private:
  Pattern pattern_;
  std::string content_;
  std::string place_;
};

class Form final : public Normalizer {
 public:
  explicit Form(NormalForm form) : form_(form) {}
  void apply(NormalText& text) const override {
    // A first character that falls apart stays the first with all its parts.
    const std::size_t parts = normalized(text.text.substr(0, text.origin), form_).size();
    text.text = normalized(text.text, form_);
    text.origin = std::max(first_character(text), std::min(parts, text.text.size()));
  }

 private:
  NormalForm form_;
};

class Lowercase final : public Normalizer {
 public:
  void apply(NormalText& text) const override {
    text.text = lowercased(text.text);
    text.origin = first_character(text);
  }
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  void apply(NormalText& text) const override {
    std::size_t begin = 0;
    std::size_t end = text.text.size();
    while (left_ && begin < end) {
      std::size_t next = begin;
      if (!is_white_space(next_character(text.text, next))) break;
      begin = next;
    }
    while (right_ && end > begin) {
      const std::size_t start = previous_character(text.text, end);
      std::size_t at = start;
      if (!is_white_space(next_character(text.text, at))) break;
      end = start;
    }
    text.text = text.text.substr(begin, end - begin);
    text.origin = text.origin > begin ? text.origin - begin : 0;
  }

 private:
  bool left_;
  bool right_;
};

class StripAccents final : public Normalizer {
 public:
  void apply(NormalText& text) const override {
    NormalText result;
    result.text.reserve(text.text.size());
    for (std::size_t at = 0; at < text.text.size();) {
      const std::size_t begin = at;
      if (is_mark(next_character(text.text, at))) continue;
      result.text.append(text.text, begin, at - begin);
      if (at <= text.origin) result.origin = result.text.size();
    }
    text = std::move(result);
  }
};

class ByteLevel final : public Normalizer {
 public:
  void apply(NormalText& text) const override {
    const std::size_t origin =
        in_byte_alphabet(std::string_view(text.text).substr(0, text.origin)).size();
    text.text = in_byte_alphabet(text.text);
    text.origin = origin;
  }
};

}  // namespace

void prepend(NormalText& text, std::string_view prefix) {
  if (text.text.empty()) return;
  text.text.insert(0, prefix);
  if (text.origin > 0) text.origin += prefix.size();
}

std::unique_ptr<const Normalizer> read_normalizer(const JsonField& field) {
  if (field.is_null()) return nullptr;
  const std::string type = field["type"].text();
  if (type == "Sequence") {
    std::vector<std::unique_ptr<const Normalizer>> parts;
    for (const JsonField& part : field["normalizers"].elements()) {
      if (part.is_null()) part.fail("must be a normalizer");
      parts.push_back(read_normalizer(part));
    }
    return std::make_unique<Sequence>(std::move(parts), field.place());
  }
  if (type == "Prepend") return std::make_unique<Prepend>(field["prepend"].text());
  if (type == "Replace") {
    return std::make_unique<Replace>(read_pattern(field["pattern"]), field["content"].text(),
                                     field.place());
  }
  if (type == "NFC") return std::make_unique<Form>(NormalForm::nfc);
  if (type == "NFD") return std::make_unique<Form>(NormalForm::nfd);
  if (type == "NFKC") return std::make_unique<Form>(NormalForm::nfkc);
  if (type == "NFKD") return std::make_unique<Form>(NormalForm::nfkd);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  if (type == "Strip") {
    return std::make_unique<Strip>(field["strip_left"].flag(), field["strip_right"].flag());
  }
  field["type"].fail(
      "is \"" + type +
      "\", a normalizer that is not supported (supported: Sequence, Prepend, Replace, "
      "NFC, NFD, NFKC, NFKD, Strip, StripAccents, Lowercase, ByteLevel)");
}

}  // namespace reprise::tokenizer
