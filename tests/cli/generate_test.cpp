// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/support/golden_checks.h"
#include "cli/support/program.h"
#include "support/golden.h"

namespace reprise::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json demo_reference() {
  std::ifstream file(REPRISE_SOURCE_DIR "/tests/data/demo-greedy.json");
  return json::parse(file);
}

Ran on_demo(std::vector<std::string> more) {
  more.insert(more.begin(), {"generate", demo_folder(), "--device", "host"});
  return run_program(more);
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.rfind('\n');
  const std::size_t start = text.rfind('\n', end - 1);
  return text.substr(start == std::string::npos ? 0 : start + 1);
}

/// The generated text: standard output without the newline that ends it.
std::string line_of(std::string out) {
  EXPECT_TRUE(out.ends_with('\n')) << out;
  if (!out.empty()) out.pop_back();
  return out;
}

TEST(Generate, GivesTheDemoModelsReferenceTextAndIds) {
  const json reference = demo_reference();
  const std::string prompt = reference["prompt"];
  const std::string count = std::to_string(reference["greedy_ids"].size());
  for (const bool eager : {false, true}) {
    std::vector<std::string> arguments{"-p", prompt, "--max-tokens", count, "--temperature", "0"};
    if (eager) arguments.emplace_back("--eager");
    const Ran text = on_demo(arguments);
    EXPECT_EQ(text.status, 0);
    EXPECT_EQ(text.out, reference["text"].get<std::string>() + "\n");
    EXPECT_EQ(text.err, "");
    arguments.emplace_back("--print-ids");
    EXPECT_EQ(json::parse(on_demo(arguments).out), reference["greedy_ids"]);
  }
}

TEST(Generate, TakesTokensAsTheyAre) {
  const json reference = demo_reference();
  const std::string ids = comma_list(reference["prompt_ids"].get<std::vector<std::int32_t>>());
  const Ran ran = on_demo({"--tokens", ids, "--max-tokens", "12"});
  EXPECT_TRUE(reference["text"].get<std::string>().starts_with(line_of(ran.out))) << ran.out;
  EXPECT_NE(line_of(ran.out), "");
}

TEST(Generate, PrintsIdsOnOneCompactLine) {
  const Ran ran = on_demo({"-p", "The", "--max-tokens", "3", "--print-ids"});
  EXPECT_EQ(ran.out, "[" + comma_list(read_array(ran.out)) + "]\n");
  EXPECT_EQ(read_array(ran.out).size(), 3u);
}

TEST(Generate, OfNoTokensPrintsNothing) {
  EXPECT_EQ(on_demo({"-p", "The", "--max-tokens", "0"}).out, "\n");
  EXPECT_EQ(on_demo({"-p", "The", "--max-tokens", "0", "--print-ids"}).out, "[]\n");
}

TEST(Generate, StatisticsAreTheLastLineOfStandardError) {
  const Ran ran = on_demo({"-p", "The", "--max-tokens", "9", "--ignore-eos", "--stats"});
  const json stats = json::parse(last_line(ran.err));
  std::set<std::string> keys;
  for (const auto& [key, value] : stats.items()) keys.insert(key);
  EXPECT_EQ(keys, (std::set<std::string>{"replays", "eager_steps", "prefill_steps", "padded_rows",
                                         "fallbacks", "record_ms", "ms_per_token", "device"}));
  EXPECT_EQ(stats["replays"], 8);
  EXPECT_EQ(stats["eager_steps"], 0);
  EXPECT_EQ(stats["prefill_steps"], 1);
  EXPECT_EQ(stats["padded_rows"], 0);
  EXPECT_EQ(stats["fallbacks"], json::object());
  EXPECT_GT(stats["record_ms"], 0.0);
  EXPECT_GT(stats["ms_per_token"], 0.0);
  EXPECT_EQ(stats["device"], "host");
}

TEST(Generate, KernelsOneBehindTheOtherGiveTheSameText) {
  std::vector<std::string> base{"-p", "The", "--max-tokens", "9", "--ignore-eos"};
  const Ran overlapping = on_demo(base);
  base.emplace_back("--no-pdl");
  EXPECT_EQ(on_demo(base).out, overlapping.out);
  base.back() = "--no-pdl=maybe";
  expect_refusal(on_demo(base), 2, "--no-pdl");
}

TEST(Generate, FakeRecordingSaysSoInItsStatistics) {
  const std::vector<std::string> base{"-p", "The", "--max-tokens", "9", "--ignore-eos", "--stats"};
  std::vector<std::string> faked = base;
  faked.emplace_back("--fake-record");
  const Ran ran = on_demo(faked);
  EXPECT_EQ(ran.out, on_demo(base).out);
  const json stats = json::parse(ran.err);
  EXPECT_EQ(stats["replays"], 0);
  EXPECT_EQ(stats["fake_replays"], 8);
  EXPECT_EQ(stats["eager_steps"], 0);
  EXPECT_EQ(stats["fallbacks"], json::object());
  faked.emplace_back("--eager");
  expect_refusal(on_demo(faked), 2, "--fake-record");
}

TEST(Generate, SamplesBySeed) {
  const auto with = [](const std::string& seed, bool eager) {
    std::vector<std::string> arguments{"-p",          "The",         "--max-tokens",  "16",
                                       "--seed",      seed,          "--temperature", "1",
                                       "--print-ids", "--ignore-eos"};
    if (eager) arguments.emplace_back("--eager");
    return on_demo(arguments).out;
  };
  const std::string first = with("1", false);
  EXPECT_EQ(first, with("1", false));
  EXPECT_EQ(first, with("1", true));
  EXPECT_NE(first, with("2", false));
  EXPECT_NE(with("18446744073709551615", false), "");
}

TEST(Generate, EndsBeforeAStopText) {
  const json reference = demo_reference();
  const std::string text = reference["text"];
  const std::vector<std::string> base{"-p", reference["prompt"], "--max-tokens", "64"};
  const auto stopped_at = [&](std::vector<std::string> stops) {
    std::vector<std::string> arguments = base;
    for (std::string& stop : stops) {
      arguments.insert(arguments.end(), {"--stop", std::move(stop)});
    }
    return line_of(on_demo(arguments).out);
  };
  // Across several tokens, and beginning inside one.
  EXPECT_EQ(stopped_at({"e seen, and"}), text.substr(0, text.find("e seen, and")));
  EXPECT_EQ(stopped_at({"nowhere in it"}), text);
  EXPECT_EQ(stopped_at({". The", "seen,"}), text.substr(0, text.find("seen,")));
  EXPECT_EQ(stopped_at({text.substr(0, 4)}), "");
  // What could have begun the stop text comes out at the end.
  EXPECT_EQ(stopped_at({text.substr(text.size() - 3) + "Q"}), text);
}

TEST(Generate, StopsAtTheContextsEndWithANote) {
  const std::string near_end = [] {
    std::string list = "5";
    for (int i = 1; i < 1020; ++i) list += ",5";
    return list;
  }();
  const Ran ran = on_demo({"--tokens", near_end, "--max-tokens", "9223372036854775807",
                           "--print-ids", "--ignore-eos", "--stats"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(read_array(ran.out).size(), 4u);
  EXPECT_TRUE(ran.err.starts_with("reprise: note: ")) << ran.err;
  EXPECT_NE(ran.err.find("1024"), std::string::npos) << ran.err;
  EXPECT_TRUE(json::accept(last_line(ran.err)));
  const Ran full = on_demo({"--tokens", near_end + ",5,5,5,5", "--print-ids"});
  EXPECT_EQ(full.status, 0);
  EXPECT_EQ(full.out, "[]\n");
  EXPECT_TRUE(full.err.starts_with("reprise: note: ")) << full.err;
}

TEST(Generate, EndsWithTheEosToken) {
  // Whatever the model says next is made its end-of-text token, by a generation_config.json.
  const fs::path folder = fs::path(testing::TempDir()) / "reprise-eos";
  fs::remove_all(folder);
  fs::copy(demo_folder(), folder);
  const json reference = demo_reference();
  std::ofstream(folder / "generation_config.json")
      << json{{"bos_token_id", 0}, {"eos_token_id", json::array({1, reference["greedy_ids"][4]})}};
  const std::vector<std::string> base{"generate",          folder,         "-p",
                                      reference["prompt"], "--max-tokens", "20"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return run_program(more).out;
  };
  const json ids = json::parse(with({"--print-ids"}));
  ASSERT_EQ(ids.size(), 5u);
  EXPECT_EQ(ids.back(), reference["greedy_ids"][4]);
  const std::string text = line_of(with({}));
  EXPECT_LT(text.size(), with({"--ignore-eos"}).size());
  EXPECT_TRUE(reference["text"].get<std::string>().starts_with(text));
  fs::remove_all(folder);
}

TEST(Generate, WorksWithoutATokenizerWhereIdsGoInAndOut) {
  const auto folder = golden_folder("llama-mha-bf16");
  ASSERT_TRUE(folder);
  const Ran ids = run_program(
      {"generate", *folder, "--tokens", "1,2", "--max-tokens", "4", "--print-ids", "--ignore-eos"});
  EXPECT_EQ(ids.status, 0) << ids.err;
  EXPECT_EQ(read_array(ids.out).size(), 4u);
  expect_refusal(run_program({"generate", *folder, "--tokens", "1,2"}), 1, "tokenizer.json");
  expect_refusal(run_program({"generate", *folder, "-p", "a", "--print-ids"}), 1, "tokenizer.json");
}

TEST(Generate, GivesThePublishedTextOfStories260K) {
  const auto folder = stories_folder();
  if (!folder) GTEST_SKIP() << "stories260K is not present";
  expect_published_story(*folder, "host");
}

TEST(Generate, NamesWeightsThatAreNotFinite) {
  const fs::path folder = fs::path(testing::TempDir()) / "reprise-not-finite";
  fs::remove_all(folder);
  fs::copy(demo_folder(), folder);
  {  // the last mebibyte of weights becomes NaN: all bits set, in bf16
    std::fstream file(folder / "model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-(1 << 20), std::ios::end);
    file << std::string(1 << 20, '\xFF');
  }
  expect_refusal(run_program({"generate", folder, "-p", "The", "--max-tokens", "3"}), 1,
                 "not finite");
  fs::remove_all(folder);
}

TEST(StandardOutput, ThatCannotBeWrittenIsAnError) {
  const std::vector<std::string> generate{"generate", demo_folder(),  "-p",
                                          "The",      "--max-tokens", "20"};
  for (const std::vector<std::string>& arguments :
       {generate, {"--help"}, {"info", "--no-measure"}}) {
    expect_refusal(run_program_into("/dev/full", arguments), 1, "standard output");
    expect_refusal(run_program_into("", arguments), 1, "standard output");
    expect_refusal(run_program_unread(arguments), 1, "standard output");
  }
}

}  // namespace
}  // namespace reprise::test
