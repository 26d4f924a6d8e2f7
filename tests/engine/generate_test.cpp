// SPDX-License-Identifier: Apache-2.0
#include "engine/generate.h"

#include <memory>

#include <gtest/gtest.h>

#include <reprise/error.h>

#include "model/model_source.h"
#include "support/golden.h"

namespace reprise {
namespace {

// A small checkpoint on the host with a context of 24 tokens, not recorded.
class Generate : public testing::Test {
 protected:
  Generate() {
    const ModelSource source = open_model(test::golden_folder("llama-mha-bf16").value().string());
    DecoderOptions options;
    options.sizes = {1};
    options.max_context = 24;
    decoder_ = std::make_unique<Decoder>(Device::open("host"), source, options);
  }

  GenerateResult run(GenerateRequest request, const TokenSink& sink = {}) {
    request.mode = RunMode::eager;
    return generate(*decoder_, request, sink);
  }

  std::unique_ptr<Decoder> decoder_;
};

TEST_F(Generate, MakesAsManyTokensAsAskedFor) {
  std::vector<std::int32_t> seen;
  const GenerateResult result = run({.prompt = {1, 2, 3}, .max_tokens = 5}, [&](std::int32_t id) {
    seen.push_back(id);
    return true;
  });
  EXPECT_EQ(result.reason, FinishReason::max_tokens);
  EXPECT_EQ(result.ids.size(), 5u);
  EXPECT_EQ(result.ids, seen);
  EXPECT_EQ(result.decode_steps, 4u);
  EXPECT_EQ(decoder_->pool().counters().eager_steps, 4u);
}

TEST_F(Generate, EndsAtAnEosTokenWhichItKeeps) {
  const GenerateResult all = run({.prompt = {1, 2, 3}, .max_tokens = 8});
  const std::int32_t eos = all.ids[3];
  const GenerateResult result = run({.prompt = {1, 2, 3}, .max_tokens = 8, .eos = {-7, eos}});
  EXPECT_EQ(result.reason, FinishReason::eos);
  EXPECT_EQ(result.ids.back(), eos);
  EXPECT_LE(result.ids.size(), 4u);
}

TEST_F(Generate, EndsWhenTheCallerHasEnough) {
  int calls = 0;
  const GenerateResult result =
      run({.prompt = {1}, .max_tokens = 8}, [&](std::int32_t) { return ++calls < 3; });
  EXPECT_EQ(result.reason, FinishReason::stop);
  EXPECT_EQ(result.ids.size(), 3u);
}

TEST_F(Generate, EndsWhereTheContextDoes) {
  const std::vector<std::int32_t> prompt(20, 5);
  EXPECT_EQ(run({.prompt = prompt, .max_tokens = 4}).reason, FinishReason::max_tokens);
  const GenerateResult result = run({.prompt = prompt, .max_tokens = 100});
  EXPECT_EQ(result.reason, FinishReason::context);
  EXPECT_EQ(result.ids.size(), 4u);
  const GenerateResult full = run({.prompt = std::vector<std::int32_t>(24, 5), .max_tokens = 1});
  EXPECT_EQ(full.reason, FinishReason::context);
  EXPECT_TRUE(full.ids.empty());
}

TEST_F(Generate, RefusesWrongRequestsAndStaysUsable) {
  EXPECT_THROW(run({.prompt = {}, .max_tokens = 1}), UsageError);
  EXPECT_THROW(run({.prompt = {-1}, .max_tokens = 1}), UsageError);
  EXPECT_THROW(run({.prompt = {1}, .max_tokens = -1}), UsageError);
  EXPECT_THROW(run({.prompt = std::vector<std::int32_t>(25, 5), .max_tokens = 1}), UsageError);
  EXPECT_THROW(run({.prompt = {1}, .max_tokens = 3},
                   [](std::int32_t) -> bool { throw std::runtime_error("the sink's own"); }),
               std::runtime_error);
  EXPECT_EQ(run({.prompt = {1}, .max_tokens = 3}).ids.size(), 3u);
}

TEST_F(Generate, FakeRecordingGivesTheSameTokens) {
  const ModelSource source = open_model(test::golden_folder("llama-mha-bf16").value().string());
  std::vector<GenerateResult> results;
  for (const RecordMode mode : {RecordMode::graphs, RecordMode::fake}) {
    DecoderOptions options;
    options.sizes = {1};
    options.max_context = 24;
    options.record_mode = mode;
    Decoder decoder(Device::open("host"), source, options);
    EXPECT_EQ(decoder.record().recorded, (std::vector<int>{1}));
    results.push_back(generate(decoder, {.prompt = {1, 2, 3}, .max_tokens = 12}));
    const PoolCounters counters = decoder.pool().counters();
    EXPECT_EQ(counters.replays, mode == RecordMode::graphs ? 11u : 0u);
    EXPECT_EQ(counters.fake_replays, mode == RecordMode::fake ? 11u : 0u);
    EXPECT_EQ(counters.eager_steps, 0u);
  }
  EXPECT_EQ(results[0].ids, results[1].ids);
  EXPECT_EQ(results[1].ids, run({.prompt = {1, 2, 3}, .max_tokens = 12}).ids);
}

TEST_F(Generate, GivesItsPagesBack) {
  const std::int32_t before = decoder_->cache().pages().available();
  run({.prompt = {1, 2, 3}, .max_tokens = 20});
  EXPECT_EQ(decoder_->cache().pages().available(), before);
}

}  // namespace
}  // namespace reprise
