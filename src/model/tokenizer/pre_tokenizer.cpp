// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/pre_tokenizer.h"

#include <string>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/metaspace.h"
#include "model/tokenizer/read_pattern.h"
#include "model/tokenizer/split.h"
#include "model/tokenizer/unicode.h"

namespace reprise::tokenizer {
namespace {

class Sequence final : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<const PreTokenizer>> parts)
      : parts_(std::move(parts)) {}
  void apply(Pieces& pieces) const override {
    for (const auto& part : parts_) part->apply(pieces);
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> parts_;
};

/// Split and everything that is a Split with a fixed pattern.
class PatternSplit final : public PreTokenizer {
 public:
  PatternSplit(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& pieces) const override {
    const auto find = [this](std::string_view text) {
      std::vector<Span> spans = pattern_.find_all(text);
      if (invert_) {
        for (Span& span : spans) span.matched = !span.matched;
      }
      return spans;
    };
    split_pieces(pieces, find, behavior_);
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

/// Splits at single characters of a class.
class CharacterSplit final : public PreTokenizer {
 public:
  CharacterSplit(std::function<bool(char32_t)> matches, SplitBehavior behavior)
      : matches_(std::move(matches)), behavior_(behavior) {}

  void apply(Pieces& pieces) const override {
    split_pieces(
        pieces, [this](std::string_view text) { return match_characters(text, matches_); },
        behavior_);
  }

 private:
  std::function<bool(char32_t)> matches_;
  SplitBehavior behavior_;
};

/// Runs of word characters, and runs of what is neither word nor white space.
class Whitespace final : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override { split_pieces(pieces, find, SplitBehavior::removed); }

 private:
  enum class Kind { space, word, other };

  static std::vector<Span> find(std::string_view text) {
    std::vector<Span> spans;
    Kind last = Kind::space;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      const char32_t character = next_character(text, at);
      const Kind kind = is_word(character)          ? Kind::word
                        : is_white_space(character) ? Kind::space
                                                    : Kind::other;
      if (!spans.empty() && kind == last) {
        spans.back().end = at;
      } else {
        spans.push_back({begin, at, kind == Kind::space});
      }
      last = kind;
    }
    return spans;
  }
};

// How GPT-2 cuts text: contractions, then runs of letters, of digits and of the rest, each with one
// space before it, then white space.
constexpr std::string_view kWords =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex) : add_prefix_space_(add_prefix_space) {
    if (use_regex) words_.emplace(kWords);
  }

  void apply(Pieces& pieces) const override {
    if (add_prefix_space_) {
      for (Piece& piece : pieces.items) {
        if (!piece.is_token() && !piece.text.starts_with(' ')) {
          std::string text(1, ' ');
          text += piece.text;
          piece.text = pieces.keep(std::move(text));
          if (piece.origin > 0) ++piece.origin;
        }
      }
    }
    if (words_) {
      split_pieces(
          pieces, [this](std::string_view text) { return words_->find_all(text); },
          SplitBehavior::isolated);
    }
    into_alphabet(pieces);
  }

 private:
  /// All pieces share one text, which saves an allocation for each word.
  static void into_alphabet(Pieces& pieces) {
    std::string all;
    std::vector<std::size_t> ends;
    ends.reserve(pieces.items.size());
    for (Piece& piece : pieces.items) {
      if (!piece.is_token()) {
        const std::size_t begin = all.size();
        const std::size_t origin = piece.origin;
        for (std::size_t at = 0; at < piece.text.size(); ++at) {
          all += character_of_byte(static_cast<unsigned char>(piece.text[at]));
          if (at + 1 == origin) piece.origin = all.size() - begin;
        }
      }
      ends.push_back(all.size());
    }
    const std::string_view kept = pieces.keep(std::move(all));
    std::size_t begin = 0;
    for (std::size_t index = 0; index < ends.size(); begin = ends[index++]) {
      Piece& piece = pieces.items[index];
      if (!piece.is_token()) piece.text = kept.substr(begin, ends[index] - begin);
    }
  }

  bool add_prefix_space_;
  std::optional<Regex> words_;
};

/// Spaces become a visible character, words begin with it.
class Metaspace final : public PreTokenizer {
 public:
  explicit Metaspace(MetaspaceOptions options) : options_(std::move(options)) {
    append_character(mark_, options_.replacement);
  }

  void apply(Pieces& pieces) const override {
    for (Piece& piece : pieces.items) {
      if (!piece.is_token()) mark_spaces(pieces, piece);
    }
    if (!options_.split) return;
    const Pattern mark = Pattern::literal(mark_);
    split_pieces(
        pieces, [&](std::string_view text) { return mark.find_all(text); },
        SplitBehavior::merged_with_next);
  }

 private:
  void mark_spaces(Pieces& pieces, Piece& piece) const {
    const bool first = options_.scheme == PrependScheme::first && piece.origin > 0;
    const bool wanted = options_.scheme == PrependScheme::always || first;
    const bool marked = piece.text.starts_with(' ') || piece.text.starts_with(mark_);
    std::string text;
    text.reserve(piece.text.size() + mark_.size());
    std::size_t origin = 0;
    if (wanted && !marked) text += mark_;
    for (std::size_t at = 0; at < piece.text.size(); ++at) {
      if (piece.text[at] == ' ') {
        text += mark_;
      } else {
        text += piece.text[at];
      }
      if (at + 1 == piece.origin) origin = text.size();
    }
    piece.text = pieces.keep(std::move(text));
    piece.origin = origin;
  }

  MetaspaceOptions options_;
  std::string mark_;
};

SplitBehavior read_behavior(const JsonField& field) {
  const std::string name = field.text();
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  field.fail("is \"" + name +
             "\"; it must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

std::unique_ptr<const PreTokenizer> read_sequence(const JsonField& field) {
  std::vector<std::unique_ptr<const PreTokenizer>> parts;
  for (const JsonField& part : field["pretokenizers"].elements()) {
    if (part.is_null()) part.fail("must be a pre-tokenizer");
    parts.push_back(read_pre_tokenizer(part));
  }
  return std::make_unique<Sequence>(std::move(parts));
}

}  // namespace

std::unique_ptr<const PreTokenizer> read_pre_tokenizer(const JsonField& field) {
  if (field.is_null()) return nullptr;
  const std::string type = field["type"].text();
  if (type == "Sequence") return read_sequence(field);
  if (type == "Split") {
    return std::make_unique<PatternSplit>(read_pattern(field["pattern"]),
                                          read_behavior(field["behavior"]), field["invert"].flag());
  }
  if (type == "ByteLevel") {
    return std::make_unique<ByteLevel>(field["add_prefix_space"].flag(),
                                       field["use_regex"].flag_or(true));
  }
  if (type == "Metaspace") return std::make_unique<Metaspace>(read_metaspace(field));
  if (type == "Digits") {
    return std::make_unique<CharacterSplit>(is_numeric, field["individual_digits"].flag()
                                                            ? SplitBehavior::isolated
                                                            : SplitBehavior::contiguous);
  }
  if (type == "Punctuation") {
    const JsonField behavior = field["behavior"];
    return std::make_unique<CharacterSplit>(
        is_punctuation, behavior.is_null() ? SplitBehavior::isolated : read_behavior(behavior));
  }
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "WhitespaceSplit") {
    return std::make_unique<CharacterSplit>(is_white_space, SplitBehavior::removed);
  }
  if (type == "CharDelimiterSplit") {
    const char32_t delimiter = field["delimiter"].character();
    return std::make_unique<CharacterSplit>([delimiter](char32_t c) { return c == delimiter; },
                                            SplitBehavior::removed);
  }
  field["type"].fail("is \"" + type +
                     "\", a pre-tokenizer that is not supported (supported: Sequence, Split, "
                     "ByteLevel, Metaspace, Digits, Punctuation, Whitespace, WhitespaceSplit, "
                     "CharDelimiterSplit)");
}

}  // namespace reprise::tokenizer
