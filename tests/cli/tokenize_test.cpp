// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/support/program.h"

namespace reprise::test {
namespace {

using nlohmann::json;

std::string tokenizer_folder(const std::string& style) {
  return REPRISE_SOURCE_DIR "/tests/golden/tokenizers/" + style;
}

TEST(Tokenize, IsExactBothWaysInAFolderWithOnlyATokenizer) {
  for (const std::string style : {"gpt2-style", "llama2-style", "llama3-style"}) {
    const std::string folder = tokenizer_folder(style);
    std::ifstream file(folder + "/cases-public.json");
    const json cases = json::parse(file);
    int tried = 0;
    for (const json& one : cases.is_array() ? cases : cases["cases"]) {
      if (++tried > 8) break;  // each case starts the program four times; all run in test_model
      SCOPED_TRACE(style + ": " + one["text"].dump());
      const std::string text = one["text"];
      EXPECT_EQ(json::parse(run_program({"tokenize", folder}, text).out), one["ids"]);
      EXPECT_EQ(json::parse(run_program({"tokenize", folder, "--no-special"}, text).out),
                one["ids_plain"]);
      const std::string ids = one["ids"].dump();
      EXPECT_EQ(run_program({"tokenize", folder, "--decode", "--no-special"}, ids).out,
                one["decoded"].get<std::string>());
      EXPECT_EQ(run_program({"tokenize", folder, "--decode"}, ids).out,
                one["decoded_raw"].get<std::string>());
    }
    EXPECT_GT(tried, 3);
  }
}

TEST(Tokenize, RefusesWhatIsNoArrayOfIds) {
  const auto decode = [](const std::string& input) {
    return run_program({"tokenize", demo_folder(), "--decode"}, input);
  };
  expect_refusal(decode(""), 2, "standard input");
  expect_refusal(decode("[1,2"), 2, "standard input");
  expect_refusal(decode("{\"a\":1}"), 2, "array");
  expect_refusal(decode("[1,-1]"), 2, "'[1]'");
  expect_refusal(decode("[4096]"), 2, "4096");
  expect_refusal(decode("[1.5]"), 2, "1.5");
  expect_refusal(decode("[\"a\"]"), 2, "\"a\"");
  expect_refusal(decode("[99999999999999999999]"), 2, "'[0]'");
  expect_refusal(decode(std::string(100'000, '[')), 2, "deep");
  EXPECT_EQ(decode("[]").status, 0);
  EXPECT_EQ(decode("[]").out, "");
}

TEST(Tokenize, NamesAMissingTokenizer) {
  expect_refusal(run_program({"tokenize", "/nowhere"}, "a"), 1, "/nowhere/tokenizer.json");
  expect_refusal(run_program({"tokenize", "random:llama-2-7b"}, "a"), 1, "random:llama-2-7b");
}

TEST(Tokenize, OfNothingGivesTheSpecialTokensAlone) {
  EXPECT_EQ(run_program({"tokenize", demo_folder()}).out, "[0]\n");
  EXPECT_EQ(run_program({"tokenize", demo_folder(), "--no-special"}).out, "[]\n");
}

}  // namespace
}  // namespace reprise::test
