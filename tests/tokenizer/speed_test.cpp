// SPDX-License-Identifier: Apache-2.0
// Time grows with the length of the text, not with its square: a million characters of the kinds
// that have made tokenizers hang.
#include <cstdint>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tokenizer/support/fixtures.h"

namespace reprise {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr double kSeconds = 40;  // quadratic time would be hours
#else
constexpr double kSeconds = 2;
#endif

std::string repeated(std::string_view unit, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

void expect_fast(const Tokenizer& tokenizer, std::string_view unit) {
  const std::string text = repeated(unit, 1'000'000);
  const std::clock_t start = std::clock();  // processor time: other programs do not count
  const auto ids = tokenizer.encode(text, true);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, kSeconds) << "\"" << unit << "\"";
  EXPECT_EQ(tokenizer.decode(ids, true), text);
}

TEST(Speed, AMillionCharactersOfByteLevelText) {
  const Tokenizer tokenizer = Tokenizer::load(test::golden_tokenizers() / "llama3-style");
  for (const char* unit : {"x", " ", "\n", "<", "a b "}) expect_fast(tokenizer, unit);
}

TEST(Speed, AMillionCharactersInOneWord) {
  // This one cuts no words: the whole text is merged as one.
  const Tokenizer tokenizer = Tokenizer::load(test::golden_tokenizers() / "llama2-style");
  for (const char* unit : {"x", " ", "\n", "the ", "\xCC\x81"}) expect_fast(tokenizer, unit);
}

TEST(Speed, MarksInDescendingOrderAreSortedQuickly) {
  auto json = test::fixture("gpt2-style");
  json["normalizer"] = {{"type", "NFC"}};
  const Tokenizer tokenizer = test::load_json(json);
  const std::string text = repeated("\xCC\x81\xCC\xA3", 1'000'000);  // classes 230 and 220
  const std::clock_t start = std::clock();
  EXPECT_GT(tokenizer.encode(text, false).size(), 1000U);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, kSeconds);
}

TEST(Speed, AddedTokensAmongWhiteSpaceAreFoundQuickly) {
  auto json = test::fixture("gpt2-style");
  json["added_tokens"].push_back(
      {{"id", 1601}, {"content", "\n"}, {"lstrip", true}, {"rstrip", true}});
  json["added_tokens"].push_back({{"id", 1602}, {"content", "<<<<<<<<x"}, {"lstrip", true}});
  const Tokenizer tokenizer = test::load_json(json);
  for (const char* unit : {"\n", " \n", "<", "  <<<<<<<<x"}) {
    const std::string text = repeated(unit, 500'000);
    const std::clock_t start = std::clock();
    EXPECT_FALSE(tokenizer.encode(text, false).empty());
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, kSeconds) << unit;
  }
}

TEST(Tokenizer, EncodesAndDecodesFromSeveralThreadsAtOnce) {
  const Tokenizer tokenizer = Tokenizer::load(test::golden_tokenizers() / "llama3-style");
  const std::string text = repeated("The quick brown fox, 1234 times. ", 20'000);
  const auto expected = tokenizer.encode(text, true);
  std::vector<std::vector<std::int32_t>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { result = tokenizer.encode(text, true); });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

TEST(Tokenizer, BytesThatAreNotUtf8CountAsReplacementCharacters) {
  const Tokenizer tokenizer = Tokenizer::load(test::golden_tokenizers() / "gpt2-style");
  EXPECT_EQ(tokenizer.encode("a\xFF\xE4\xBD!\xF0\x9F", false),
            tokenizer.encode("a\xEF\xBF\xBD\xEF\xBF\xBD!\xEF\xBF\xBD", false));
}

TEST(Tokenizer, TellsItsTokens) {
  const Tokenizer tokenizer = Tokenizer::load(test::golden_tokenizers() / "llama3-style");
  EXPECT_EQ(tokenizer.vocabulary_size(), 1605U);
  const auto id = tokenizer.token_id("<|eot_id|>");
  ASSERT_EQ(id, 1604);
  EXPECT_EQ(tokenizer.token(*id), "<|eot_id|>");
  EXPECT_TRUE(tokenizer.is_special(*id));
  EXPECT_FALSE(tokenizer.is_special(0));
  EXPECT_FALSE(tokenizer.is_special(-1));
  EXPECT_EQ(tokenizer.token(1605), std::nullopt);
  EXPECT_EQ(tokenizer.token_id("no such token"), std::nullopt);
}

TEST(Tokenizer, ReadsTheStoriesModelWhereItIsPresent) {
  const auto folder = std::filesystem::path(REPRISE_SOURCE_DIR) / "../shared/models/stories260K";
  if (!std::filesystem::exists(folder / "tokenizer.json")) GTEST_SKIP() << "no " << folder;
  const Tokenizer tokenizer = Tokenizer::load(folder);
  EXPECT_EQ(tokenizer.vocabulary_size(), 512U);
  EXPECT_EQ(tokenizer.encode("Once upon a time", true),
            (std::vector<std::int32_t>{1, 403, 407, 261, 378}));
  EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{1, 403, 407, 261, 378}, true),
            "Once upon a time");
}

}  // namespace
}  // namespace reprise
