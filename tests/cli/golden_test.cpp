// SPDX-License-Identifier: Apache-2.0
// The program against the golden checkpoints: logits in three modes, greedy tokens in two.
#include "support/golden.h"

#include <cmath>
#include <cstring>
#include <ostream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/support/program.h"
#include "model/safetensors.h"

namespace reprise::test {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-4;  // of a position's logits, relative to their norm

template <class T>
std::vector<T> values(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry* entry = file.find(name);
  if (entry == nullptr) throw std::runtime_error(name + " is missing");
  const HostTensor tensor = file.tensor(*entry);
  const auto* first = static_cast<const T*>(tensor.data);
  return {first, first + tensor.shape.elements()};
}

// The largest relative difference over all positions.
double worst_position(const std::vector<float>& got, const std::vector<float>& expected,
                      std::size_t vocabulary) {
  if (got.size() != expected.size()) return INFINITY;
  double worst = 0;
  for (std::size_t start = 0; start < got.size(); start += vocabulary) {
    double difference = 0;
    double norm = 0;
    for (std::size_t i = start; i < start + vocabulary; ++i) {
      difference += (double{got[i]} - expected[i]) * (double{got[i]} - expected[i]);
      norm += double{expected[i]} * expected[i];
    }
    const double relative = std::sqrt(difference / norm);
    worst = relative <= worst ? worst : relative;  // NaN counts as the worst
  }
  return worst;
}

class Golden : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto found = golden_folder(GetParam());
    if (!found) GTEST_SKIP() << GetParam() << " is not present";
    folder_ = *found;
    file_.emplace(folder_ / "golden.safetensors");
  }

  std::vector<std::int32_t> ids(int number, const std::string& what) const {
    return values<std::int32_t>(*file_, std::to_string(number) + "." + what);
  }

  std::vector<float> logits(int number, const std::string& mode) const {
    const fs::path out = fs::path(testing::TempDir()) / (std::string(GetParam()) + "." + mode);
    const Ran ran = run_program({"logits", folder_, "--tokens", comma_list(ids(number, "prompt")),
                                 "--out", out, "--mode", mode, "--device", "host"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out + ran.err, "");
    const SafetensorsFile file(out);
    EXPECT_EQ(file.entries().size(), 1u);
    EXPECT_EQ(file.find("logits")->shape, file_->find(std::to_string(number) + ".logits")->shape);
    fs::remove(out);
    return values<float>(file, "logits");
  }

  fs::path folder_;
  std::optional<SafetensorsFile> file_;
};

TEST_P(Golden, LogitsAgreeInAllModes) {
  for (int number = 0; number < 3; ++number) {
    SCOPED_TRACE(number);
    const TensorEntry* entry = file_->find(std::to_string(number) + ".logits");
    const auto expected = values<float>(*file_, entry->name);
    const auto vocabulary = static_cast<std::size_t>(entry->shape[1]);
    const std::vector<float> eager = logits(number, "eager");
    const std::vector<float> graph = logits(number, "graph");
    EXPECT_LE(worst_position(logits(number, "prefill"), expected, vocabulary), kTolerance);
    EXPECT_LE(worst_position(graph, expected, vocabulary), kTolerance);
    ASSERT_EQ(graph.size(), eager.size());
    EXPECT_EQ(std::memcmp(graph.data(), eager.data(), graph.size() * sizeof(float)), 0);
  }
}

TEST_P(Golden, GreedyTokensAgreeEagerAndRecorded) {
  for (int number = 0; number < 3; ++number) {
    SCOPED_TRACE(number);
    const std::vector<std::int32_t> expected = ids(number, "greedy");
    std::vector<std::string> arguments{"generate",
                                       folder_,
                                       "--tokens",
                                       comma_list(ids(number, "prompt")),
                                       "--max-tokens",
                                       std::to_string(expected.size()),
                                       "--print-ids",
                                       "--ignore-eos",
                                       "--stats",
                                       "--temperature",
                                       "0",
                                       "--device",
                                       "host"};
    const std::uint64_t steps = expected.size() - 1;
    const Ran recorded = run_program(arguments);
    ASSERT_EQ(recorded.status, 0) << recorded.err;
    EXPECT_EQ(read_array(recorded.out), expected);
    const auto replayed = nlohmann::json::parse(recorded.err);
    EXPECT_EQ(replayed["replays"], steps);
    EXPECT_EQ(replayed["eager_steps"], 0);
    arguments.emplace_back("--eager");
    const Ran eager = run_program(arguments);
    ASSERT_EQ(eager.status, 0) << eager.err;
    EXPECT_EQ(read_array(eager.out), expected);
    const auto unrecorded = nlohmann::json::parse(eager.err);
    EXPECT_EQ(unrecorded["replays"], 0);
    EXPECT_EQ(unrecorded["eager_steps"], steps);
    EXPECT_EQ(unrecorded["fallbacks"], nlohmann::json::object());
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Golden,
                         testing::Values("llama-mha-bf16", "llama-hd64-bf16", "llama-hd128-bf16",
                                         "llama3-gqa-tied-f16", "mistral-sliding-bf16",
                                         "qwen2-bias-sharded-bf16"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace reprise::test
