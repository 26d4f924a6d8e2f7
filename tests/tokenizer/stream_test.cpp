// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/utf8.h"
#include "tokenizer/support/fixtures.h"

namespace reprise {
namespace {

using Ids = std::vector<std::int32_t>;

Tokenizer golden(const char* name) { return Tokenizer::load(test::golden_tokenizers() / name); }

class AllFixtures : public testing::TestWithParam<const char*> {};

TEST_P(AllFixtures, StreamHandsOutWhatDecodeHasBeyondThePrompt) {
  const Tokenizer tokenizer = golden(GetParam());
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int32_t> any(
      0, static_cast<std::int32_t>(tokenizer.vocabulary_size()));
  int compared = 0;
  for (int round = 0; round < 2000; ++round) {
    Ids ids(random() % 12);
    // Low ids are single bytes in every fixture: what makes half characters.
    for (auto& id : ids)
      id = random() % 2 == 0 ? any(random) : static_cast<std::int32_t>(random() % 260);
    const std::size_t split = ids.empty() ? 0 : random() % (ids.size() + 1);
    StreamDecoder stream(tokenizer, std::span(ids).first(split));
    std::string rest;
    for (std::size_t at = split; at < ids.size(); ++at) {
      const std::string text = stream.push(ids[at]);
      EXPECT_TRUE(is_valid_utf8(text));
      rest += text;
    }
    rest += stream.flush();
    const std::string prompt = tokenizer.decode(std::span(ids).first(split), true);
    const std::string whole = tokenizer.decode(ids, true);
    if (!whole.starts_with(prompt)) continue;
    EXPECT_EQ(prompt + rest, whole);
    ++compared;
  }
  EXPECT_GT(compared, 1000);
}

TEST_P(AllFixtures, EncodedTextSurvivesDecoding) {
  const Tokenizer tokenizer = golden(GetParam());
  std::mt19937 random(11);
  const std::vector<std::string> parts{" ",  "  ", "\n", "\t", "the", "Word", "é", "e\xCC\x81",
                                       "世", "😀",  "12", "'s", "<|",  "</",   "Ж", "\xC2\xA0"};
  for (int round = 0; round < 1000; ++round) {
    std::string text;
    for (std::size_t count = random() % 15; count > 0; --count)
      text += parts[random() % parts.size()];
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, true), true), text);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AllFixtures,
                         testing::Values("gpt2-style", "llama2-style", "llama3-style"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           name.erase(name.find('-'), 1);
                           return name;
                         });

TEST(Stream, KeepsTheSpaceAfterAPromptAndDropsItAfterABareBos) {
  const Tokenizer tokenizer = golden("llama2-style");
  const Ids world = tokenizer.encode("world", false);  // "▁world" in pieces
  const auto text_after = [&](const Ids& prompt) {
    StreamDecoder stream(tokenizer, prompt);
    std::string text;
    for (const auto id : world) text += stream.push(id);
    return text + stream.flush();
  };
  EXPECT_EQ(text_after(tokenizer.encode("Hello", true)), " world");
  EXPECT_EQ(text_after(tokenizer.encode("", true)), "world");
  EXPECT_EQ(text_after({}), "world");
}

TEST(Stream, APromptThatEndsInByteTokensStaysOutOfTheContinuation) {
  const Tokenizer tokenizer = golden("llama2-style");
  const Ids prompt = tokenizer.encode("smile 😀", true);
  ASSERT_EQ(tokenizer.decode(prompt, true), "smile 😀");
  StreamDecoder stream(tokenizer, prompt);
  std::string text;
  for (const auto id : tokenizer.encode("😀 end", false)) text += stream.push(id);
  EXPECT_EQ(text + stream.flush(), " 😀 end");
}

TEST(Stream, HoldsACharacterUntilItIsWhole) {
  const Tokenizer tokenizer = golden("gpt2-style");
  const Ids bytes = tokenizer.encode("😀", false);
  ASSERT_GE(bytes.size(), 2U);
  StreamDecoder stream(tokenizer);
  for (std::size_t at = 0; at + 1 < bytes.size(); ++at) EXPECT_EQ(stream.push(bytes[at]), "");
  EXPECT_EQ(stream.push(bytes.back()), "😀");
  EXPECT_EQ(stream.push(bytes[0]), "");
  EXPECT_EQ(stream.flush(), "\xEF\xBF\xBD");
}

TEST(Stream, SkipsSpecialTokensAndIdsWithoutAToken) {
  const Tokenizer tokenizer = golden("llama3-style");
  StreamDecoder stream(tokenizer);
  EXPECT_EQ(stream.push(*tokenizer.token_id("<|eot_id|>")), "");
  EXPECT_EQ(stream.push(1'000'000), "");
  EXPECT_EQ(stream.push(-1), "");
  EXPECT_EQ(stream.push(*tokenizer.token_id("A")), "A");
  EXPECT_EQ(stream.flush(), "");
}

}  // namespace
}  // namespace reprise
