// SPDX-License-Identifier: Apache-2.0
// Measuring decode steps of a tiny model with random weights.
#include "engine/decode_bench.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <reprise/host.h>

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DecodeBench : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("reprise-decode-bench-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "config.json") << R"({"architectures": ["LlamaForCausalLM"],
      "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 64,
      "max_position_embeddings": 16, "rms_norm_eps": 1e-5, "torch_dtype": "bfloat16",
      "tie_word_embeddings": true})";
    source_ = open_model("random:" + (folder_ / "config.json").string());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static DecodeBenchOptions quick(std::vector<int> batches) {
    DecodeBenchOptions options;
    options.batches = std::move(batches);
    options.context = 20;  // beyond the model's max_position_embeddings
    options.steps = 3;
    options.repeats = 2;
    options.warm_ups = 1;
    return options;
  }
  DecodeBenchReport run(const DecodeBenchOptions& options) {
    return bench_decode(device_, source_, options);
  }
  template <class Fault>
  void expect_refusal(const std::function<void(DecodeBenchOptions&)>& spoil, const char* culprit) {
    DecodeBenchOptions options = quick({1});
    spoil(options);
    try {
      run(options);
      ADD_FAILURE() << "accepted: " << culprit;
    } catch (const Fault& fault) {
      EXPECT_THAT(fault.what(), HasSubstr(culprit));
    }
  }

  std::filesystem::path folder_;
  ModelSource source_;
  const std::shared_ptr<Device> device_ =
      host::open({.threads = 2, .memory_limit = std::size_t{512} << 20});
};

TEST_F(DecodeBench, MeasuresEachModeAtEachBatch) {
  const DecodeBenchReport report = run(quick({2, 1}));
  ASSERT_EQ(report.results.size(), 4u);
  const std::vector<int> batches{2, 2, 1, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    const DecodeFigures& row = report.results[i];
    EXPECT_EQ(row.batch, batches[i]);
    EXPECT_EQ(row.mode, i % 2 == 0 ? DecodeMode::eager : DecodeMode::graph);
    EXPECT_GT(row.ms_median, 0);
    EXPECT_GE(row.ms_p99, row.ms_median);
    EXPECT_GT(row.ms_synced_median, 0);
    EXPECT_GT(row.host_us, 0);
    EXPECT_LE(row.host_us, row.ms_synced_median * 1000);
    EXPECT_NEAR(row.tokens_per_s * row.ms_median, 1000.0 * row.batch, 1e-6 * 1000 * row.batch);
    EXPECT_NEAR(row.bandwidth_share * report.read.gb_per_s, row.gb_per_s, 1e-9 * row.gb_per_s);
  }
  EXPECT_THAT(report.ladder.recorded, ElementsAre(2, 1));
  EXPECT_GT(report.ladder.record_seconds, 0);
  EXPECT_GT(report.ladder.pool_bytes, 0u);
}

TEST_F(DecodeBench, CountsTheBytesAStepMustRead) {
  const DecodeBenchReport report = run(quick({1}));
  EXPECT_EQ(report.dtype, DType::bf16);
  // q and o 32·32, k and v 16·32 each, gate, up and down 48·32 each, two norms; then the final norm
  // and the tied table. Two bytes each.
  const std::int64_t layer = 2 * 32 * 32 + 2 * 16 * 32 + 3 * 48 * 32 + 2 * 32;
  EXPECT_EQ(report.weight_bytes, 2 * (2 * layer + 32 + 64 * 32));
  // The host's cache is f32: keys and values of 2 heads of 8 in 2 layers, 20 entries.
  EXPECT_EQ(report.kv_bytes_per_row, 20 * 2 * 2 * (2 * 8) * 4);
  const DecodeFigures& row = report.results[0];
  const auto bytes = static_cast<double>(report.weight_bytes + report.kv_bytes_per_row);
  EXPECT_NEAR(row.gb_per_s, bytes / row.ms_median / 1e6, 1e-9 * row.gb_per_s);
}

TEST_F(DecodeBench, AWindowHidesOlderEntriesFromTheCount) {
  source_.config.windows = {6, 0};
  const DecodeBenchReport report = run(quick({1}));
  EXPECT_EQ(report.kv_bytes_per_row, (6 + 20) * 2 * (2 * 8) * 4);
}

TEST_F(DecodeBench, OneModeAlone) {
  DecodeBenchOptions options = quick({1, 3});
  options.eager = false;
  const DecodeBenchReport graph = run(options);
  ASSERT_EQ(graph.results.size(), 2u);
  EXPECT_EQ(graph.results[1].mode, DecodeMode::graph);
  std::swap(options.eager, options.graph);
  const DecodeBenchReport eager = run(options);
  ASSERT_EQ(eager.results.size(), 2u);
  EXPECT_EQ(eager.results[1].mode, DecodeMode::eager);
  EXPECT_THAT(eager.ladder.recorded, ElementsAre());
  EXPECT_EQ(eager.ladder.record_seconds, 0);
}

TEST_F(DecodeBench, TellsWhatItDoesAfterEachStep) {
  DecodeBenchOptions options = quick({1});
  options.graph = false;
  int calls = 0;
  options.on_progress = [&](std::string_view what) {
    EXPECT_FALSE(what.empty());
    calls += what == "batch 1, eager, repeat 2 of 2" ? 1 : 0;
  };
  run(options);
  // Announced, one step ahead of the timed ones (device_times()), back to back, waited for.
  EXPECT_EQ(calls, 1 + 1 + 2 * options.steps);
}

TEST_F(DecodeBench, RefusesWhatMakesNoSense) {
  using Options = DecodeBenchOptions;
  expect_refusal<UsageError>([](Options& o) { o.batches = {}; }, "no batch size");
  expect_refusal<UsageError>([](Options& o) { o.batches = {2, 0}; }, "batch 0");
  expect_refusal<UsageError>([](Options& o) { o.batches = {2, -3}; }, "batch -3");
  expect_refusal<UsageError>([](Options& o) { o.batches = {4, 1, 4}; }, "batch 4 is given twice");
  expect_refusal<UsageError>([](Options& o) { o.context = 0; }, "context of 0");
  expect_refusal<UsageError>([](Options& o) { o.context = std::int64_t{1} << 31; }, "too long");
  expect_refusal<UsageError>([](Options& o) { o.steps = 0; }, "0 steps");
  expect_refusal<UsageError>([](Options& o) { o.eager = o.graph = false; }, "no mode");
}

TEST_F(DecodeBench, SaysBeforeLoadingThatTheCacheCannotFit) {
  const auto too_large = [](DecodeBenchOptions& options) {
    options.batches = {4096};
    options.context = 1 << 20;
    options.on_progress = [](std::string_view) { ADD_FAILURE() << "work was begun"; };
  };
  expect_refusal<OutOfMemory>(too_large, "4096 rows with 1048576 entries");
}

}  // namespace
}  // namespace reprise
