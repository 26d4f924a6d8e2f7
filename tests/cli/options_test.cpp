// SPDX-License-Identifier: Apache-2.0
// Wrong use: one line that names the culprit, and exit status 2 (1 where the fault is the machine's
// or the model's).
#include <ostream>

#include <gtest/gtest.h>

#include "cli/support/program.h"

namespace reprise::test {
namespace {

struct WrongUse {
  std::string name;
  std::vector<std::string> arguments;
  std::string culprit;
  int status = 2;
};

void PrintTo(const WrongUse& use, std::ostream* out) { *out << use.name; }

// `generate` on the demo model with a prompt and `more`.
WrongUse text(const std::string& name, std::vector<std::string> more, const std::string& culprit,
              int status = 2) {
  std::vector<std::string> arguments{"generate", demo_folder(), "-p", "The house"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return {name, arguments, culprit, status};
}

WrongUse tokens(const std::string& name, const std::string& ids, const std::string& culprit) {
  return {name, {"generate", demo_folder(), "--tokens=" + ids}, culprit};
}

std::string many_tokens(int count) {
  std::string list = "5";
  for (int i = 1; i < count; ++i) list += ",5";
  return list;
}

std::vector<WrongUse> wrong_generate() {
  const std::string demo = demo_folder();
  const std::string huge = "99999999999999999999";
  return {
      {"no_command", {}, "no command"},
      {"unknown_command", {"frobnicate"}, "command 'frobnicate'"},
      {"unknown_global_option", {"--frob"}, "option '--frob'"},
      {"no_model", {"generate"}, "MODEL"},
      {"no_prompt", {"generate", demo}, "-p"},
      {"two_prompts", {"generate", demo, "-p", "a", "--tokens", "1"}, "--tokens"},
      text("unknown_option", {"--frob"}, "option '--frob'"),
      text("extra_argument", {"extra"}, "argument 'extra'"),
      text("line_breaks_in_a_value", {"--seed", "1\n2\r3"}, "--seed"),
      text("negative_max_tokens", {"--max-tokens", "-1"}, "--max-tokens: -1"),
      text("huge_max_tokens", {"--max-tokens", huge}, "--max-tokens: " + huge),
      text("max_tokens_no_number", {"--max-tokens", "12x"}, "'12x'"),
      text("nan_temperature", {"--temperature", "nan"}, "'nan'"),
      text("infinite_temperature", {"--temperature", "inf"}, "'inf'"),
      text("negative_temperature", {"--temperature=-0.5"}, "'-0.5'"),
      text("temperature_beyond_float", {"--temperature", "1e39"}, "'1e39'"),
      text("empty_temperature", {"--temperature", ""}, "--temperature"),
      text("negative_seed", {"--seed", "-1"}, "'-1'"),
      text("huge_seed", {"--seed", huge}, huge),
      text("seed_twice", {"--seed", "1", "--seed", "2"}, "--seed"),
      text("empty_stop", {"--stop", ""}, "--stop"),
      text("flag_with_value", {"--eager=maybe"}, "'maybe'"),
      text("unknown_device", {"--device", "tpu"}, "'tpu'"),
      text("absent_device", {"--device", "cuda:63"}, "cuda", 1),
      {"value_missing", {"generate", demo, "-p"}, "--prompt"},
      tokens("negative_token", "-5", "token -5 "),
      tokens("token_above_vocabulary", "1,4096", "token 4096 "),
      tokens("token_beyond_32_bits", "1,99999999999", "99999999999"),
      tokens("token_no_number", "1,x,2", "'x'"),
      tokens("token_with_space", "1, 2", "' 2'"),
      tokens("token_fraction", "1.5", "'1.5'"),
      tokens("token_missing", "1,,2", "item 2"),
      tokens("trailing_comma", "1,2,", "item 3"),
      tokens("prompt_above_context", many_tokens(1025), "1025 tokens"),
      {"empty_tokens", {"generate", demo, "--tokens", ""}, "--tokens"},
  };
}

std::vector<WrongUse> wrong_others() {
  const std::string demo = demo_folder();
  return {
      {"logits_without_out", {"logits", demo, "--tokens", "1"}, "--out"},
      {"logits_without_tokens", {"logits", demo, "--out", "x"}, "--tokens"},
      {"logits_mode", {"logits", demo, "--tokens", "1", "--out", "x", "--mode", "fast"}, "'fast'"},
      {"logits_token", {"logits", demo, "--tokens", "9999", "--out", "x"}, "token 9999 "},
      {"logits_folder",
       {"logits", demo, "--tokens", "1", "--out", "/nowhere/x.safetensors"},
       "/nowhere/x.safetensors",
       1},
      {"bench_batch_0", {"bench", demo, "--batch", "1,0"}, "--batch: 0"},
      {"bench_batch_empty", {"bench", demo, "--batch", "1,,2"}, "--batch: item 2"},
      {"bench_mode", {"bench", demo, "--modes", "eager,fast"}, "'fast'"},
      {"bench_steps_0", {"bench", demo, "--steps", "0"}, "--steps: 0"},
      {"bench_context_0", {"bench", demo, "--context", "0"}, "--context: 0"},
      {"inspect_batch_0", {"inspect", demo, "--batch", "0"}, "--batch: 0"},
      {"inspect_format", {"inspect", demo, "--format", "xml"}, "'xml'"},
      {"no_such_model", {"generate", "/nowhere", "-p", "a"}, "/nowhere", 1},
      {"empty_model", {"generate", "", "-p", "a"}, "model", 1},
      {"unknown_shape", {"info", "random:gigantic"}, "random:gigantic", 1},
      {"text_without_tokenizer",
       {"generate", "random:tinyllama-1.1b", "-p", "a"},
       "random:tinyllama-1.1b has no tokenizer",
       1},
  };
}

class WrongUses : public testing::TestWithParam<WrongUse> {};

TEST_P(WrongUses, AreRefusedInOneLine) {
  expect_refusal(run_program(GetParam().arguments), GetParam().status, GetParam().culprit);
}

const auto kName = [](const auto& one) { return one.param.name; };
INSTANTIATE_TEST_SUITE_P(Generate, WrongUses, testing::ValuesIn(wrong_generate()), kName);
INSTANTIATE_TEST_SUITE_P(Others, WrongUses, testing::ValuesIn(wrong_others()), kName);

TEST(Help, IsPrintedForTheProgramAndEveryCommand) {
  const Ran all = run_program({"--help"});
  EXPECT_EQ(all.status, 0);
  EXPECT_EQ(all.err, "");
  for (const std::string command : {"generate", "logits", "tokenize", "bench", "inspect", "info"}) {
    EXPECT_NE(all.out.find(command), std::string::npos) << command;
    const Ran one = run_program({command, "--help"});
    EXPECT_EQ(one.status, 0) << command;
    EXPECT_EQ(one.err, "") << command;
    EXPECT_NE(one.out.find("reprise " + command), std::string::npos) << one.out;
  }
}

TEST(Help, ComesBeforeWhatElseIsWrong) {
  EXPECT_EQ(run_program({"generate", "--max-tokens", "x", "--help"}).status, 0);
}

TEST(Version, IsOneLine) {
  const Ran ran = run_program({"--version"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_TRUE(ran.out.starts_with("reprise ")) << ran.out;
  EXPECT_EQ(ran.out.find('\n'), ran.out.size() - 1);
}

TEST(Info, TellsOfDeviceBuildAndModel) {
  const Ran ran = run_program({"info", demo_folder(), "--device", "host", "--no-measure"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const std::string fact : {"host:0", "LlamaForCausalLM", "7344384", "bf16", "1024", "8192"}) {
    EXPECT_NE(ran.out.find(fact), std::string::npos) << fact << " in " << ran.out;
  }
}

}  // namespace
}  // namespace reprise::test
