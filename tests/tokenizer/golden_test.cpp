// SPDX-License-Identifier: Apache-2.0
// The recorded answers of the Hugging Face library for three small tokenizers.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/tokenizer/tokenizer.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class GoldenTokenizer : public testing::TestWithParam<const char*> {
 protected:
  fs::path folder() const {
    return fs::path(REPRISE_SOURCE_DIR) / "tests/golden/tokenizers" / GetParam();
  }

  nlohmann::json cases() const {
    std::ifstream file(folder() / "cases-public.json");
    return nlohmann::json::parse(file);
  }
};

TEST_P(GoldenTokenizer, EncodesAndDecodesEveryCaseExactly) {
  const Tokenizer tokenizer = Tokenizer::load(folder());
  std::size_t count = 0;
  for (const auto& entry : cases()) {
    const auto text = entry.at("text").get<std::string>();
    const auto ids = entry.at("ids").get<std::vector<std::int32_t>>();
    EXPECT_EQ(tokenizer.encode(text, true), ids) << text;
    EXPECT_EQ(tokenizer.encode(text, false), entry.at("ids_plain").get<std::vector<std::int32_t>>())
        << text;
    EXPECT_EQ(tokenizer.decode(ids, true), entry.at("decoded").get<std::string>()) << text;
    EXPECT_EQ(tokenizer.decode(ids, false), entry.at("decoded_raw").get<std::string>()) << text;
    ++count;
  }
  EXPECT_GE(count, 20U);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTokenizer,
                         testing::Values("gpt2-style", "llama2-style", "llama3-style"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           name.erase(name.find('-'), 1);
                           return name;
                         });

}  // namespace
}  // namespace reprise
