// SPDX-License-Identifier: Apache-2.0
// Answers of the Hugging Face library (tokenizers 0.22.2) for the fixtures with other normalizers,
// pre-tokenizers, added tokens, models, post-processors and decoders put in: variants.json holds
// for each a merge patch on a fixture, and what the library made of it.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tokenizer/support/fixtures.h"

namespace reprise {
namespace {

using Ids = std::vector<std::int32_t>;

/// All that a stream hands out after the first `split` ids.
std::string streamed(const Tokenizer& tokenizer, const Ids& ids, std::size_t split) {
  StreamDecoder stream(tokenizer, std::span(ids).first(split));
  std::string text;
  for (std::size_t at = split; at < ids.size(); ++at) text += stream.push(ids[at]);
  return text + stream.flush();
}

TEST(Variants, EncodeAndDecodeAsTheReferenceDoes) {
  std::size_t variants = 0;
  nlohmann::json bases;
  for (const auto& variant : test::read_json(test::golden_tokenizers() / "variants.json")) {
    SCOPED_TRACE(variant.at("name").get<std::string>());
    const auto base = variant.at("base").get<std::string>();
    if (!bases.contains(base)) bases[base] = test::fixture(base);
    nlohmann::json json = bases[base];
    json.merge_patch(variant.at("patch"));
    const Tokenizer tokenizer = test::load_json(json);
    for (const auto& entry : variant.at("encode")) {
      const auto text = entry.at("text").get<std::string>();
      EXPECT_EQ(tokenizer.encode(text, true), entry.at("ids").get<Ids>()) << text;
      EXPECT_EQ(tokenizer.encode(text, false), entry.at("ids_plain").get<Ids>()) << text;
    }
    for (const auto& entry : variant.at("decode")) {
      const auto ids = entry.at("ids").get<Ids>();
      const auto text = entry.at("decoded").get<std::string>();
      EXPECT_EQ(tokenizer.decode(ids, true), text);
      EXPECT_EQ(tokenizer.decode(ids, false), entry.at("decoded_raw").get<std::string>());
      for (std::size_t split = 0; split <= ids.size(); ++split) {
        const std::string prompt = tokenizer.decode(std::span(ids).first(split), true);
        if (!text.starts_with(prompt)) continue;  // the continuation changes the prompt's text
        EXPECT_EQ(prompt + streamed(tokenizer, ids, split), text) << "split at " << split;
      }
    }
    ++variants;
  }
  EXPECT_GE(variants, 90U);
}

TEST(Variants, MergesInTheOldSpellingMeanTheSame) {
  nlohmann::json json = test::fixture("llama2-style");
  const Tokenizer pairs = test::load_json(json);
  for (auto& merge : json["model"]["merges"]) {
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  const Tokenizer lines = test::load_json(json);
  const std::string text = "It was the best of times, it was the worst of times";
  EXPECT_EQ(lines.encode(text, true), pairs.encode(text, true));
  EXPECT_LT(lines.encode(text, true).size(), text.size() / 2);
}

TEST(Variants, EndOfWordSuffixMarksTheLastCharacter) {
  nlohmann::json json = test::fixture("gpt2-style");
  json["added_tokens"] = nlohmann::json::array();
  json["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  json["decoder"] = {{"type", "BPEDecoder"}, {"suffix", "</w>"}};
  json["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"b</w>", 2}, {"ab</w>", 3}, {"a</w>", 4}};
  json["model"]["merges"] = {"a b</w>"};
  json["model"]["end_of_word_suffix"] = "</w>";
  const Tokenizer tokenizer = test::load_json(json);
  EXPECT_EQ(tokenizer.encode("ab aab a", false), (Ids{3, 0, 3, 4}));
  EXPECT_EQ(tokenizer.decode(Ids{3, 0, 3, 4}, true), "ab aab a");
}

}  // namespace
}  // namespace reprise
