// SPDX-License-Identifier: Apache-2.0
#include "prompt.h"

#include <filesystem>

#include <fmt/format.h>

#include <reprise/error.h>

#include "core/text.h"

namespace reprise::cli {

Tokenizer load_tokenizer(const ModelSource& source) {
  constexpr const char* kWayOut = "give --tokens and --print-ids instead of text";
  if (source.folder.empty()) {
    throw ModelError(fmt::format("{} has no tokenizer; {}", printable(source.argument), kWayOut));
  }
  const std::filesystem::path file = source.folder / "tokenizer.json";
  if (!std::filesystem::exists(file)) {
    throw ModelError(fmt::format("{}: no such file; {}", printable(file.string()), kWayOut));
  }
  return Tokenizer::load(source.folder);
}

std::vector<std::int32_t> prompt_ids(const ModelSource& source, const Tokenizer& tokenizer,
                                     std::string_view text) {
  std::vector<std::int32_t> ids = tokenizer.encode(text, true);
  if (text.empty() && ids.size() > 1) ids.resize(1);  // a template that closes the text as well
  if (ids.empty() && source.generation.bos) ids.push_back(*source.generation.bos);
  if (ids.empty()) {
    throw UsageError(
        "the prompt holds no token: the text is empty and neither tokenizer.json nor the "
        "configuration has a beginning-of-text token; give some text");
  }
  for (const std::int32_t id : ids) {
    if (id < source.config.vocabulary) continue;
    throw ModelError(fmt::format(
        "{}: gives the prompt token {}, but config.json's vocab_size is {}; the two files do not "
        "belong together",
        printable((source.folder / "tokenizer.json").string()), id, source.config.vocabulary));
  }
  return ids;
}

void check_prompt(const ModelConfig& config, std::span<const std::int32_t> ids) {
  for (const std::int32_t id : ids) {
    if (id >= 0 && id < config.vocabulary) continue;
    throw UsageError(fmt::format("token {} is outside the model's vocabulary; ids go from 0 to {}",
                                 id, config.vocabulary - 1));
  }
  const auto length = static_cast<std::int64_t>(ids.size());
  if (length > config.max_positions) {
    throw UsageError(
        fmt::format("the prompt of {} tokens is longer than the model's context of {}; shorten it",
                    length, config.max_positions));
  }
}

}  // namespace reprise::cli
