// SPDX-License-Identifier: Apache-2.0
// Bad model folders through the program: exit status 1 and one line. The full table of faults is
// tested in tests/model/.
#include <fstream>
#include <functional>
#include <ostream>

#include <gtest/gtest.h>

#include "cli/support/program.h"
#include "support/golden.h"

namespace reprise::test {
namespace {

namespace fs = std::filesystem;

struct BadModel {
  std::string name;
  std::function<void(const fs::path&)> damage;
  std::string culprit;
};

void PrintTo(const BadModel& bad, std::ostream* out) { *out << bad.name; }

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void replace_in(const fs::path& path, const std::string& from, const std::string& to) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  file.close();
  const std::size_t at = bytes.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  write(path, bytes.replace(at, from.size(), to));
}

const std::string kWeights = "model.safetensors";

std::vector<BadModel> all_bad_models() {
  const std::string huge_header = std::string(7, '\0') + '\x80';
  return {
      {"no_weights", [](const fs::path& f) { fs::remove(f / kWeights); }, kWeights},
      {"no_config", [](const fs::path& f) { fs::remove(f / "config.json"); }, "config.json"},
      {"empty_weights", [](const fs::path& f) { write(f / kWeights, ""); }, kWeights},
      {"truncated_weights",
       [](const fs::path& f) { fs::resize_file(f / kWeights, fs::file_size(f / kWeights) - 1); },
       kWeights},
      {"huge_header", [=](const fs::path& f) { write(f / kWeights, huge_header + "{}"); },
       kWeights},
      {"missing_tensor",
       [](const fs::path& f) {
         replace_in(f / kWeights, "model.norm.weight", "model.norm.Weight");
       },
       "model.norm.weight"},
      {"config_no_json", [](const fs::path& f) { write(f / "config.json", "{\"a\":"); },
       "config.json"},
      {"deep_config",
       [](const fs::path& f) { write(f / "config.json", std::string(100'000, '[')); },
       "config.json"},
      {"unknown_architecture",
       [](const fs::path& f) {
         replace_in(f / "config.json", "LlamaForCausalLM", "GuanacoForCausalLM");
       },
       "GuanacoForCausalLM"},
  };
}

class BadModels : public testing::TestWithParam<BadModel> {};

TEST_P(BadModels, AreRefusedInOneLine) {
  const fs::path folder = fs::path(testing::TempDir()) / ("reprise-bad-" + GetParam().name);
  fs::remove_all(folder);
  fs::copy(golden_folder("llama-mha-bf16").value(), folder);
  GetParam().damage(folder);
  expect_refusal(run_program({"generate", folder, "--tokens", "1", "--print-ids"}), 1,
                 GetParam().culprit);
  expect_refusal(run_program({"logits", folder, "--tokens", "1", "--out", folder / "out"}), 1,
                 GetParam().culprit);
  EXPECT_FALSE(fs::exists(folder / "out"));
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(All, BadModels, testing::ValuesIn(all_bad_models()),
                         [](const auto& one) { return one.param.name; });

TEST(BadModels, ATokenizerOfAnotherModelIsNamed) {
  const fs::path folder = fs::path(testing::TempDir()) / "reprise-bad-tokenizer";
  fs::remove_all(folder);
  fs::copy(golden_folder("llama-mha-bf16").value(), folder);
  fs::copy(demo_folder() + "/tokenizer.json", folder / "tokenizer.json");
  expect_refusal(run_program({"generate", folder, "-p", "The carriage stopped before the house"}),
                 1, "tokenizer.json");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace reprise::test
