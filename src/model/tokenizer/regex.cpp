// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/regex.h"

#include <array>
#include <optional>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <reprise/error.h>

#include "core/utf8.h"
#include "model/tokenizer/regex_syntax.h"

namespace reprise::tokenizer {
namespace {

struct Free {
  void operator()(pcre2_compile_context* p) const noexcept { pcre2_compile_context_free(p); }
  void operator()(pcre2_match_context* p) const noexcept { pcre2_match_context_free(p); }
  void operator()(pcre2_match_data* p) const noexcept { pcre2_match_data_free(p); }
  void operator()(pcre2_jit_stack* p) const noexcept { pcre2_jit_stack_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

// A pattern that runs away is an error, not a hang: these are far above what any sensible pattern
// needs for a text of many megabytes.
constexpr std::uint32_t kMatchLimit = 100'000'000;
constexpr std::uint32_t kHeapLimitKib = 1U << 20;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

struct Match {
  std::size_t begin;
  std::size_t end;
};

/// The scratch memory of one search through one text.
class Search {
 public:
  Search(const pcre2_code* code, std::string_view text, const std::string& pattern)
      : code_(code),
        text_(text),
        pattern_(pattern),
        data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    if (!data_ || !context_) throw Error("out of memory while matching a tokenizer's pattern");
    pcre2_set_match_limit(context_.get(), kMatchLimit);
    pcre2_set_heap_limit(context_.get(), kHeapLimitKib);
  }

  std::optional<Match> from(std::size_t start) {
    int result = match(start, 0);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT && !stack_) {
      // Most searches fit the 32 KiB that PCRE2 takes from the machine's stack.
      stack_.reset(pcre2_jit_stack_create(256 * 1024, 64 * 1024 * 1024, nullptr));
      if (stack_) pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
      result = match(start, 0);
    }
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = match(start, PCRE2_NO_JIT);
    if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
    if (result < 0) {
      throw Error("the tokenizer's pattern \"" + pattern_ + "\" failed at byte " +
                  std::to_string(start) + " of a text: " + message_of(result));
    }
    const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(data_.get());
    return Match{offsets[0], offsets[1]};
  }

 private:
  int match(std::size_t start, std::uint32_t options) {
    // Without NO_UTF_CHECK every call would read the rest of the text: quadratic time.
    return pcre2_match(code_, units(text_), text_.size(), start, PCRE2_NO_UTF_CHECK | options,
                       data_.get(), context_.get());
  }

  const pcre2_code* code_;
  std::string_view text_;
  const std::string& pattern_;
  Owned<pcre2_match_data> data_;
  Owned<pcre2_match_context> context_;
  Owned<pcre2_jit_stack> stack_;
};

}  // namespace

struct Regex::Code {
  explicit Code(pcre2_code* code) : handle(code) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(handle); }
  pcre2_code* handle;
};

Regex::Regex(std::string_view pattern) : pattern_(pattern) {
  if (pattern.size() > 100'000) throw UsageError("a pattern is longer than 100000 bytes");
  const std::string perl = perl_syntax(pattern);
  const Owned<pcre2_compile_context> context(pcre2_compile_context_create(nullptr));
  if (!context) throw Error("out of memory while compiling a tokenizer's pattern");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(
      units(perl), perl.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
      &error, &offset, context.get());
  if (code == nullptr) {
    throw UsageError("pattern \"" + pattern_ + "\" is not supported: " + message_of(error));
  }
  code_ = std::make_shared<const Code>(code);
  // Where the machine allows no JIT, the interpreter serves: slower, the same matches.
  static_cast<void>(pcre2_jit_compile(code, PCRE2_JIT_COMPLETE));
}

std::vector<Span> Regex::find_all(std::string_view text) const {
  std::vector<Span> spans;
  Search search(code_->handle, text, pattern_);
  std::size_t covered = 0;
  std::size_t start = 0;
  std::optional<std::size_t> last_end;
  while (start <= text.size()) {
    const std::optional<Match> match = search.from(start);
    if (!match) break;
    if (match->begin == match->end && last_end == match->end) {
      start += start < text.size() ? character_length(text[start]) : 1;
      continue;
    }
    if (covered < match->begin) spans.push_back({covered, match->begin, false});
    spans.push_back({match->begin, match->end, true});
    covered = start = match->end;
    last_end = match->end;
  }
  if (covered < text.size()) spans.push_back({covered, text.size(), false});
  return spans;
}

}  // namespace reprise::tokenizer
