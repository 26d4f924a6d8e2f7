// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/regex_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <utility>
#include <vector>

#include <reprise/error.h>

namespace reprise::tokenizer {
namespace {

constexpr std::string_view kSpaces =
    R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kNotSpaces =
    R"(\x00-\x08\x0e-\x1f\x21-\x84\x86-\x9f\xa1-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027})"
    R"(\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

/// Names that Oniguruma knows in long form or as POSIX classes, by PCRE2's names.
std::string_view known_property(std::string_view lower) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kNames{{
      {"letter", "L"},
      {"mark", "M"},
      {"number", "N"},
      {"punctuation", "P"},
      {"punct", "P"},
      {"symbol", "S"},
      {"separator", "Z"},
      {"other", "C"},
      {"decimalnumber", "Nd"},
      {"digit", "Nd"},
      {"uppercaseletter", "Lu"},
      {"lowercaseletter", "Ll"},
      {"titlecaseletter", "Lt"},
      {"modifierletter", "Lm"},
      {"otherletter", "Lo"},
      {"alpha", "Alphabetic"},
      {"upper", "Uppercase"},
      {"lower", "Lowercase"},
      {"space", "White_Space"},
  }};
  for (const auto& [name, ours] : kNames) {
    if (name == lower) return ours;
  }
  return {};
}

/// Scripts that tokenizers' patterns use. PCRE2 would read a bare script name as "script
/// extensions", a larger set.
bool is_script(std::string_view lower) {
  static constexpr std::array<std::string_view, 22> kScripts{
      "han",        "hiragana", "katakana", "hangul",   "latin",   "cyrillic", "greek",   "arabic",
      "hebrew",     "thai",     "lao",      "khmer",    "tibetan", "myanmar",  "bengali", "tamil",
      "devanagari", "telugu",   "georgian", "armenian", "common",  "bopomofo"};
  return std::find(kScripts.begin(), kScripts.end(), lower) != kScripts.end();
}

class Rewriter {
 public:
  explicit Rewriter(std::string_view pattern) : in_(pattern) {}

  std::string run() {
    while (at_ < in_.size()) step();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw UsageError("pattern \"" + std::string(in_) + "\": " + std::string(what) +
                     " is not supported");
  }

  bool starts_with(std::string_view text) const { return in_.substr(at_).starts_with(text); }

  void copy(std::size_t count) {
    count = std::min(count, in_.size() - at_);
    out_ += in_.substr(at_, count);
    at_ += count;
  }

  void step() {
    const char c = in_[at_];
    if (c == '\\') {
      atom_ = out_.size();
      escape(false);
    } else if (c == '[') {
      atom_ = out_.size();
      set();
    } else if (c == '(') {
      groups_.push_back(out_.size());
      group();
    } else if (c == ')') {
      if (!groups_.empty()) {
        atom_ = groups_.back();
        groups_.pop_back();
      }
      copy(1);
    } else if (c == '{' && interval()) {
      return;
    } else {
      if (c != '*' && c != '+' && c != '?' && c != '{') atom_ = out_.size();
      copy(1);
      // The rest of a UTF-8 character belongs to the same atom.
      while (at_ < in_.size() && (static_cast<unsigned char>(in_[at_]) & 0xC0) == 0x80) copy(1);
    }
  }

  /// "(?m:" means "dot matches newline" in Ruby: Perl's s. ^ and $ always work on lines.
  void group() {
    if (starts_with("(?#")) return copy(std::min(in_.find(')', at_), in_.size() - 1) - at_);
    copy(1);
    if (!starts_with("?")) return;
    std::size_t end = at_ + 1;
    while (end < in_.size() &&
           (std::isalpha(static_cast<unsigned char>(in_[end])) != 0 || in_[end] == '-'))
      ++end;
    if (end >= in_.size() || (in_[end] != ':' && in_[end] != ')')) return;
    for (; at_ < end; ++at_) out_ += in_[at_] == 'm' ? 's' : in_[at_];
  }

  /// {n,m}+ repeats the interval in Ruby (in Perl it is possessive), {n}? makes it optional, {,m}
  /// starts at 0.
  bool interval() {
    const std::size_t close = in_.find('}', at_);
    if (close == std::string_view::npos) return false;
    const std::string_view inside = in_.substr(at_ + 1, close - at_ - 1);
    const auto digit_or_comma = [](char c) { return (c >= '0' && c <= '9') || c == ','; };
    if (inside.empty() || inside == "," ||
        !std::all_of(inside.begin(), inside.end(), digit_or_comma)) {
      return false;
    }
    out_ += inside.front() == ',' ? "{0" : "{";
    out_ += inside;
    out_ += '}';
    at_ = close + 1;
    const char next = at_ < in_.size() ? in_[at_] : '\0';
    const bool exact = inside.find(',') == std::string_view::npos;
    if (next == '+' || (next == '?' && exact)) {
      out_.insert(atom_, "(?:");
      out_ += ")";
      copy(1);
    }
    return true;
  }

  void set() {
    out_ += '[';
    ++at_;
    if (starts_with("^")) copy(1);
    members(0);
    out_ += ']';
  }

  /// The members of a set up to its closing bracket. Sets inside sets are unions: their members
  /// are simply members of the outer set.
  void members(int depth) {
    if (depth > 8) refuse("a set nested so deeply");
    bool first = true;
    for (;; first = false) {
      if (at_ >= in_.size()) refuse("a set without its closing bracket");
      const char c = in_[at_];
      if (c == ']' && !first) {
        ++at_;
        return;
      }
      if (starts_with("&&")) refuse("an intersection of sets (&&)");
      if (c == ']') {
        out_ += "\\]";
        ++at_;
      } else if (c == '\\') {
        escape(true);
      } else if (starts_with("[:")) {
        posix_class();
      } else if (c == '[') {
        ++at_;
        if (starts_with("^")) refuse("a negated set inside a set");
        members(depth + 1);
      } else {
        copy(1);
      }
    }
  }

  void posix_class() {
    const std::size_t close = in_.find(":]", at_);
    if (close == std::string_view::npos) refuse("a bracket class without its end");
    const std::string_view name = in_.substr(at_ + 2, close - at_ - 2);
    if (name == "space") {
      out_ += kSpaces;
    } else if (name == "^space") {
      out_ += kNotSpaces;
    } else if (name == "word") {
      out_ += kWord;
    } else {
      out_ += in_.substr(at_, close + 2 - at_);
    }
    at_ = close + 2;
  }

  void put_class(std::string_view members, bool inside_set, bool negated) {
    if (inside_set) {
      out_ += members;
    } else {
      out_ += negated ? "[^" : "[";
      out_ += members;
      out_ += ']';
    }
  }

  void escape(bool inside_set) {
    if (at_ + 1 >= in_.size()) refuse("a backslash at the end");
    const char c = in_[at_ + 1];
    switch (c) {
      case 's':
        put_class(kSpaces, inside_set, false);
        break;
      case 'S':
        put_class(kNotSpaces, inside_set, false);
        break;
      case 'w':
        put_class(kWord, inside_set, false);
        break;
      case 'h':
        put_class("0-9a-fA-F", inside_set, false);
        break;
      case 'W':
      case 'H':
        if (inside_set) refuse("a negated class (\\W, \\H) inside a set");
        put_class(c == 'W' ? kWord : "0-9a-fA-F", false, true);
        break;
      case 'b':
      case 'B':
        if (inside_set) return copy(2);
        word_boundary(c == 'b');
        break;
      case 'u':
        out_ += "\\x{" + std::string(in_.substr(at_ + 2, 4)) + "}";
        at_ = std::min(at_ + 6, in_.size());
        return;
      case 'p':
      case 'P':
        return property();
      default:
        return copy(2);
    }
    at_ += 2;
  }

  void word_boundary(bool at_boundary) {
    const std::string word = "[" + std::string(kWord) + "]";
    const std::string before = "(?<=" + word + ")";
    const std::string not_before = "(?<!" + word + ")";
    const std::string after = "(?=" + word + ")";
    const std::string not_after = "(?!" + word + ")";
    out_ += at_boundary ? "(?:" + before + not_after + "|" + not_before + after + ")"
                        : "(?:" + before + after + "|" + not_before + not_after + ")";
  }

  void property() {
    const std::size_t close = in_.find('}', at_);
    if (at_ + 2 >= in_.size() || in_[at_ + 2] != '{' || close == std::string_view::npos) {
      return copy(2);
    }
    std::string_view name = in_.substr(at_ + 3, close - at_ - 3);
    bool negated = in_[at_ + 1] == 'P';
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    std::string lower;
    for (char c : name) {
      if (c != '_' && c != ' ' && c != '-') {
        lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    const std::string_view known = known_property(lower);
    out_ += negated ? "\\P{" : "\\p{";
    if (is_script(lower)) out_ += "sc:";
    out_ += known.empty() ? name : known;
    out_ += '}';
    at_ = close + 1;
  }

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
  std::size_t atom_ = 0;  // where in out_ the last repeatable thing begins
  std::vector<std::size_t> groups_;
};

}  // namespace

std::string perl_syntax(std::string_view pattern) { return Rewriter(pattern).run(); }

}  // namespace reprise::tokenizer
