// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/decoder_steps.h"

#include <algorithm>
#include <charconv>

#include "model/tokenizer/byte_alphabet.h"

namespace reprise::tokenizer {
namespace {

/// The byte that a token like "<0x41>" stands for.
std::optional<char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  unsigned value = 0;
  // "+F" is a number to the reference too.
  const char* begin = token.data() + (token[3] == '+' ? 4 : 3);
  const char* end = token.data() + 5;
  const auto result = std::from_chars(begin, end, value, 16);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return static_cast<char>(value);
}

}  // namespace

void JoinStep::whole(std::string_view token) {
  if (!first_) next_.text(" ");
  first_ = false;
  hand_on(token);
}

void ByteLevelStep::whole(std::string_view token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const auto byte = byte_of_character(next_character(token, at));
    if (!byte) {
      bytes = token;
      break;
    }
    bytes += static_cast<char>(*byte);
  }
  std::string text;
  repair_.feed(bytes, text);
  next_.text(text);
}

void ByteLevelStep::finish() {
  std::string text;
  repair_.finish(text);
  hand_on(text);
  next_.finish();
}

void ByteFallbackStep::release() {
  if (bytes_.empty()) return;
  if (is_valid_utf8(bytes_)) {
    hand_on(bytes_);
  } else {
    for (std::size_t count = bytes_.size(); count > 0; --count) hand_on("\xEF\xBF\xBD");
  }
  bytes_.clear();
}

void ByteFallbackStep::whole(std::string_view token) {
  if (const auto byte = byte_of_token(token)) {
    bytes_ += *byte;
    return;
  }
  release();
  hand_on(token);
}

void ByteFallbackStep::finish() {
  release();
  next_.finish();
}

void FuseStep::finish() {
  next_.end_token();
  next_.finish();
}

void ReplaceTextStep::text(std::string_view portion) {
  held_ += portion;
  std::string out;
  std::size_t done = 0;
  for (std::size_t found; (found = held_.find(sought_, done)) != std::string::npos;) {
    out.append(held_, done, found - done);
    out += content_;
    done = found + sought_.size();
  }
  std::size_t keep = std::min(sought_.size() - 1, held_.size() - done);
  while (keep > 0 &&
         !std::string_view(held_).ends_with(std::string_view(sought_).substr(0, keep))) {
    --keep;
  }
  out.append(held_, done, held_.size() - keep - done);
  held_.erase(0, held_.size() - keep);
  next_.text(out);
}

void ReplaceTextStep::end_token() {
  next_.text(held_);
  held_.clear();
  next_.end_token();
}

void StripStep::text(std::string_view portion) {
  std::string out;
  for (std::size_t at = 0; at < portion.size();) {
    const std::size_t begin = at;
    if (next_character(portion, at) == options_.content) {
      if (at_start_ && stripped_ < options_.start) {
        ++stripped_;
        continue;
      }
      at_start_ = false;
      if (held_ < options_.stop) {
        ++held_;
        continue;
      }
    } else {
      at_start_ = false;
      for (; held_ > 0; --held_) append_character(out, options_.content);
    }
    out += portion.substr(begin, at - begin);
  }
  next_.text(out);
}

void StripStep::end_token() {
  at_start_ = true;
  stripped_ = held_ = 0;
  next_.end_token();
}

void MetaspaceStep::text(std::string_view portion) {
  std::string out;
  for (std::size_t at = 0; at < portion.size();) {
    const std::size_t begin = at;
    if (next_character(portion, at) != mark_) {
      out += portion.substr(begin, at - begin);
    } else if (!drop_) {
      out += ' ';
    }
  }
  next_.text(out);
}

void MetaspaceStep::end_token() {
  drop_ = false;
  next_.end_token();
}

void SuffixStep::whole(std::string_view token) {
  if (last_) hand_on(replaced(*last_, suffix_, " "));
  last_ = token;
}

void SuffixStep::finish() {
  if (last_) hand_on(replaced(*last_, suffix_, ""));
  last_.reset();
  next_.finish();
}

}  // namespace reprise::tokenizer
