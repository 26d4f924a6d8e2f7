// SPDX-License-Identifier: Apache-2.0
// Every tokenizer.json that cannot be used says why, in one line that names the file and the field.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/error.h>

#include "tokenizer/support/fixtures.h"

namespace reprise {
namespace {

using nlohmann::json;

void expect_error(const std::string& bytes, const std::vector<std::string>& parts) {
  const std::string message = test::load_error(bytes);
  EXPECT_NE(message.find("tokenizer.json: "), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  for (const auto& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "\"" << part << "\" in: " << message;
  }
}

/// A merge patch on the llama2-style fixture, and what the error must mention.
void expect_patch_error(const char* patch, const std::vector<std::string>& parts) {
  static const json kFixture = test::fixture("llama2-style");
  json edited = kFixture;
  edited.merge_patch(json::parse(patch));
  SCOPED_TRACE(patch);
  expect_error(edited.dump(), parts);
}

TEST(TokenizerErrors, MissingFile) {
  const test::TemporaryFolder folder;
  try {
    Tokenizer::load(folder.path());
    FAIL() << "loaded a folder without a file";
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("tokenizer.json: no such file"), std::string::npos);
  }
}

TEST(TokenizerErrors, BytesThatAreNoJson) {
  expect_error("", {"empty"});
  expect_error("{", {"not valid JSON"});
  expect_error("nonsense", {"not valid JSON"});
  expect_error("{\"a\":\"\xFF\"}", {"not valid JSON"});
  expect_error(R"({"a":"\ud800"})", {"not valid JSON"});
  expect_error(std::string("\0\0\0\0", 4), {"not valid JSON"});
  expect_error("[]", {"must be an object"});
  expect_error("7", {"must be an object"});
  expect_error("{}", {"model", "is missing"});
  const std::string whole = test::fixture("llama2-style").dump();
  expect_error(whole.substr(0, whole.size() / 2), {"not valid JSON"});
}

TEST(TokenizerErrors, DeepNesting) {
  const std::string open(200'000, '[');
  expect_error(open + std::string(open.size(), ']'), {"nested deeper"});
  expect_error(R"({"normalizer":)" + open, {"nested deeper"});
}

TEST(TokenizerErrors, Model) {
  expect_patch_error(R"({"model":{"type":"Unigram"}})", {"model.type", "Unigram", "BPE"});
  expect_patch_error(R"({"model":{"merges":null}})", {"model.merges", "missing"});
  expect_patch_error(R"({"model":{"vocab":null}})", {"model.vocab", "missing"});
  expect_patch_error(R"({"model":{"merges":7}})", {"model.merges", "list"});
  expect_patch_error(R"({"model":{"merges":["a"]}})", {"model.merges[0]", "two tokens"});
  expect_patch_error(R"({"model":{"merges":["a b c"]}})", {"model.merges[0]"});
  expect_patch_error(R"({"model":{"merges":[["a","b","c"]]}})", {"model.merges[0]", "two"});
  expect_patch_error(R"({"model":{"merges":[["a",5]]}})", {"model.merges[0][1]", "string"});
  expect_patch_error(R"({"model":{"merges":["t qqq"]}})", {"model.merges[0]", "qqq"});
  expect_patch_error(R"({"model":{"merges":["a q"]}})", {"model.merges[0]", "aq"});
  expect_patch_error(R"({"model":{"vocab":{"zz":-1}}})", {"model.vocab.\"zz\"", "token id"});
  expect_patch_error(R"({"model":{"vocab":{"zz":1e9}}})", {"model.vocab.\"zz\"", "token id"});
  expect_patch_error(R"({"model":{"vocab":{"zz":4294967296}}})", {"model.vocab.\"zz\""});
  expect_patch_error(R"({"model":{"vocab":{"zz":"1"}}})", {"model.vocab.\"zz\""});
  expect_patch_error(R"({"model":{"vocab":{"zz":5}}})", {"model.vocab.\"zz\"", "already"});
  expect_patch_error(R"({"model":{"dropout":0.1}})", {"model.dropout", "null"});
  expect_patch_error(R"({"model":{"byte_fallback":"yes"}})", {"model.byte_fallback"});
}

TEST(TokenizerErrors, Parts) {
  expect_patch_error(R"({"normalizer":{"type":"Precompiled"}})",
                     {"normalizer.type", "Precompiled"});
  expect_patch_error(R"({"normalizer":{"normalizers":[null]}})", {"normalizer.normalizers[0]"});
  expect_patch_error(R"({"normalizer":7})", {"normalizer", "object"});
  expect_patch_error(R"({"pre_tokenizer":{"type":"UnicodeScripts"}})",
                     {"pre_tokenizer.type", "UnicodeScripts"});
  expect_patch_error(
      R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a"},"behavior":"Isolated","invert":false}})",
      {"pre_tokenizer.pattern.Regex", "(a"});
  expect_patch_error(
      R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[a&&b]"},"behavior":"Isolated","invert":false}})",
      {"pre_tokenizer.pattern.Regex", "intersection"});
  expect_patch_error(
      R"({"pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"Bent","invert":false}})",
      {"pre_tokenizer.behavior", "Bent"});
  expect_patch_error(
      R"({"pre_tokenizer":{"type":"Metaspace","replacement":"__","prepend_scheme":"first"}})",
      {"pre_tokenizer.replacement", "one character"});
  expect_patch_error(
      R"({"pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"last"}})",
      {"pre_tokenizer.prepend_scheme", "last"});
  expect_patch_error(R"({"decoder":{"type":"WordPiece"}})", {"decoder.type", "WordPiece"});
  expect_patch_error(
      R"({"decoder":{"decoders":[{"type":"Strip","content":" ","start":-1,"stop":0}]}})",
      {"decoder.decoders[0].start"});
  expect_patch_error(R"({"post_processor":{"special_tokens":{"<s>":null}}})",
                     {"post_processor.single[0].SpecialToken.id", "<s>"});
  expect_patch_error(R"({"post_processor":{"special_tokens":{"<s>":{"ids":[77777]}}}})",
                     {"post_processor", "77777"});
  expect_patch_error(R"({"post_processor":{"single":[]}})",
                     {"post_processor.single", "exactly once"});
  expect_patch_error(R"({"truncation":{"max_length":5}})", {"truncation", "null"});
  expect_patch_error(R"({"padding":{}})", {"padding", "null"});
}

TEST(TokenizerErrors, AddedTokens) {
  expect_patch_error(R"({"added_tokens":[{"id":5,"content":"<s>"}]})",
                     {"added_tokens[0].id", "<s>"});
  expect_patch_error(R"({"added_tokens":[{"id":5,"content":"new"}]})", {"added_tokens[0].id", "5"});
  expect_patch_error(R"({"added_tokens":[{"id":1600,"content":"x1"},{"id":1600,"content":"x2"}]})",
                     {"added_tokens[1].id", "1600"});
  expect_patch_error(R"({"added_tokens":[{"content":"new"}]})", {"added_tokens[0].id"});
  expect_patch_error(R"({"added_tokens":[{"id":1600,"content":"new","lstrip":1}]})",
                     {"added_tokens[0].lstrip"});
  expect_patch_error(R"({"added_tokens":["new"]})", {"added_tokens[0]", "object"});
}

TEST(TokenizerErrors, ARunawayPatternIsAnErrorNotASilence) {
  json edited = test::fixture("gpt2-style");
  edited["pre_tokenizer"] = {{"type", "Split"},
                             {"pattern", {{"Regex", "(a+)+[bd]"}}},
                             {"behavior", "Isolated"},
                             {"invert", false}};
  const Tokenizer tokenizer = test::load_json(edited);
  EXPECT_THROW(tokenizer.encode(std::string(60, 'a') + "c", false), Error);
}

/// A small file with every part in it, so that a mutation hits something that matters.
std::string dense_file() {
  json file = test::fixture("llama2-style");
  file["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers",
                            {{{"type", "Split"},
                              {"pattern", {{"Regex", R"(\s+|[^\s\p{L}]{1,3}+)"}}},
                              {"behavior", "Isolated"},
                              {"invert", false}},
                             {{"type", "Metaspace"}, {"replacement", "▁"}}}}};
  json vocabulary;
  for (const char* token : {"<unk>", "<s>", "</s>", "▁", "a", "b", "ab", "<0x41>", "<0xE4>"}) {
    vocabulary[token] = vocabulary.size();
  }
  file["model"]["vocab"] = vocabulary;
  file["model"]["merges"] = json::array({"a b"});
  file["added_tokens"].push_back(
      {{"id", 9}, {"content", "<x>"}, {"lstrip", true}, {"rstrip", true}, {"normalized", true}});
  return file.dump();
}

TEST(TokenizerErrors, MutatedFilesGiveAModelErrorOrWork) {
  const std::string original = dense_file();
  ASSERT_EQ(test::load_error(original), "");
  const std::string interesting = "{}[]\",:0123456789-eE.\\truefalsn \x80\xFF";
  std::mt19937 random(23);
  const test::TemporaryFolder folder;
  int loaded = 0;
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = original;
    for (std::size_t count = 1 + random() % 3; count > 0; --count) {
      const std::size_t at = random() % bytes.size();
      const char letter = interesting[random() % interesting.size()];
      switch (random() % 4) {
        case 0:
          bytes[at] = letter;
          break;
        case 1:
          bytes.insert(at, 1, letter);
          break;
        case 2:
          bytes.erase(at, 1 + random() % 4);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 40));
      }
    }
    folder.write("tokenizer.json", bytes);
    try {
      const Tokenizer tokenizer = Tokenizer::load(folder.path());
      ++loaded;
      const auto ids = tokenizer.encode("<s> ab <x>  ab\xF0\x9F ä!! </s>", true);
      static_cast<void>(tokenizer.decode(ids, false));
      StreamDecoder stream(tokenizer, ids);
      for (std::int32_t id = -1; id < 12; ++id) static_cast<void>(stream.push(id));
      static_cast<void>(stream.flush());
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(loaded, 100);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace reprise
