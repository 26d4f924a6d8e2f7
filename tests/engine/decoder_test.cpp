// SPDX-License-Identifier: Apache-2.0
// The equality rules of DESIGN §3 on a whole model: eager against replay, batches against single
// rows, poisoned padding and neighbours, prefill against decode.
#include "engine/decoder.h"

#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/error.h>
#include <reprise/graph.h>

#include "support/golden.h"

namespace reprise {
namespace {

using Tokens = std::vector<std::int32_t>;

class DecoderTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Decoder> decoder(int max_batch, std::vector<int> sizes,
                                   RecordMode mode = RecordMode::graphs) {
    DecoderOptions options;
    options.max_batch = max_batch;
    options.sizes = std::move(sizes);
    options.max_context = 96;
    options.record_mode = mode;
    options.prefill_chunk = 7;  // smaller than the prompts: chunks must not show
    options.on_note = [this](std::string_view line) { notes_.emplace_back(line); };
    return std::make_unique<Decoder>(device_, source_, std::move(options));
  }
  std::size_t vocabulary() const { return static_cast<std::size_t>(source_.config.vocabulary); }

  /// A prompt that differs per row.
  Tokens prompt(int row) const {
    Tokens tokens;
    for (int i = 0; i < 3 + row % 18; ++i) {
      tokens.push_back(
          static_cast<std::int32_t>((5 + 31 * row + 7 * i) % source_.config.vocabulary));
    }
    return tokens;
  }

  struct Batch {
    std::vector<Sequence> sequences;
    std::vector<DecodeRow> rows;
  };
  Batch start(Decoder& d, int rows, const Sampling& sampling = {}) {
    Batch batch;
    for (int row = 0; row < rows; ++row) batch.sequences.push_back(d.new_sequence());
    for (int row = 0; row < rows; ++row) {
      Sequence& sequence = batch.sequences[static_cast<std::size_t>(row)];
      const std::int32_t next = d.prefill(sequence, prompt(row), sampling);
      batch.rows.push_back({&sequence, next, sampling});
    }
    return batch;
  }
  struct StepOutput {
    std::vector<float> logits;
    Tokens next;
  };
  StepOutput step(Decoder& d, Batch& batch, RunMode mode) {
    result_ = d.step(batch.rows, mode);
    StepOutput out;
    out.logits.resize(batch.rows.size() * vocabulary());
    out.next.resize(batch.rows.size());
    d.read_logits(out.logits);
    d.read_next(out.next);
    return out;
  }
  static void rewind(Batch& batch) {
    for (Sequence& sequence : batch.sequences) sequence.set_length(sequence.length() - 1);
  }
  static void feed(Batch& batch, const Tokens& next) {
    for (std::size_t row = 0; row < next.size(); ++row) batch.rows[row].token = next[row];
  }

  std::shared_ptr<Device> device_ = Device::open("host");
  ModelSource source_ = open_model(test::golden_folder(GetParam())->string());
  RunResult result_;
  std::vector<std::string> notes_;
};

bool bitwise_equal(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

TEST_P(DecoderTest, ReplayEqualsEagerBitwiseAtEveryBatch) {
  const auto d = decoder(33, {1, 2, 4, 8, 16, 33});
  d->record();
  for (const int rows : {1, 3, 5, 8, 33}) {
    Batch batch = start(*d, rows);
    for (int i = 0; i < 3; ++i) {
      const StepOutput eager = step(*d, batch, RunMode::eager);
      EXPECT_EQ(result_.path, RunPath::eager);
      rewind(batch);
      const StepOutput replay = step(*d, batch, RunMode::automatic);
      EXPECT_EQ(result_.path, RunPath::replay);
      EXPECT_TRUE(bitwise_equal(eager.logits, replay.logits)) << rows;
      EXPECT_EQ(eager.next, replay.next) << rows;
      feed(batch, replay.next);
    }
  }
  EXPECT_TRUE(notes_.empty());
}

TEST_P(DecoderTest, FakeRecordingEqualsReplayBitwise) {
  const auto real = decoder(8, {1, 8});
  const auto fake = decoder(8, {1, 8}, RecordMode::fake);
  real->record();
  fake->record();
  for (const int rows : {1, 5}) {
    Batch one = start(*real, rows);
    Batch other = start(*fake, rows);
    for (int i = 0; i < 3; ++i) {
      const StepOutput replayed = step(*real, one, RunMode::automatic);
      const StepOutput faked = step(*fake, other, RunMode::automatic);
      EXPECT_EQ(result_.path, RunPath::fake);
      EXPECT_TRUE(bitwise_equal(replayed.logits, faked.logits)) << rows;
      EXPECT_EQ(replayed.next, faked.next) << rows;
      feed(one, replayed.next);
      feed(other, faked.next);
    }
  }
  EXPECT_TRUE(notes_.empty());
}

TEST_P(DecoderTest, ARowOfABatchEqualsItselfAlone) {
  const auto d = decoder(8, {1, 8});
  d->record();
  Batch batch = start(*d, 5);
  const StepOutput together = step(*d, batch, RunMode::automatic);
  EXPECT_EQ(result_.bucket, 8);
  rewind(batch);
  for (std::size_t row = 0; row < 5; ++row) {
    const std::vector<DecodeRow> alone{batch.rows[row]};
    d->step(alone);
    std::vector<float> logits(vocabulary());
    d->read_logits(logits);
    EXPECT_TRUE(
        bitwise_equal(logits, std::span(together.logits).subspan(row * vocabulary(), vocabulary())))
        << row;
  }
}

TEST_P(DecoderTest, PoisonedPaddingAndNeighboursLeaveNoTrace) {
  const auto d = decoder(8, {8});
  d->record();
  Batch batch = start(*d, 5);
  const StepOutput clean = step(*d, batch, RunMode::automatic);
  rewind(batch);
  // The sink page, which is all that padding rows read, turns to NaN; the other rows get other
  // tokens.
  for (const CacheLayer& layer : d->cache().layers()) {
    const auto bytes =
        static_cast<std::size_t>(kPageTokens * source_.config.kv_size()) * size_of(layer.dtype);
    d->stream().fill({layer.keys, bytes, MemorySpace::device}, 0xFF);
    d->stream().fill({layer.values, bytes, MemorySpace::device}, 0xFF);
  }
  for (std::size_t row = 1; row < 5; ++row)
    batch.rows[row].token = (batch.rows[row].token + 11) % 300;
  const StepOutput poisoned = step(*d, batch, RunMode::automatic);
  EXPECT_TRUE(bitwise_equal(std::span(clean.logits).first(vocabulary()),
                            std::span(poisoned.logits).first(vocabulary())));
  EXPECT_EQ(clean.next[0], poisoned.next[0]);
}

TEST_P(DecoderTest, PrefillEqualsDecodeBitwiseOnTheHost) {
  const auto d = decoder(1, {1});
  d->record();
  const Tokens tokens = prompt(17);
  std::vector<float> prefilled;
  Sequence one = d->new_sequence();
  const std::int32_t next = d->prefill(one, tokens, {}, [&](std::span<const float> logits) {
    prefilled.insert(prefilled.end(), logits.begin(), logits.end());
  });
  Sequence other = d->new_sequence();
  std::vector<float> decoded;
  std::int32_t chosen = -1;
  for (const std::int32_t token : tokens) {
    const std::vector<DecodeRow> row{{&other, token, {}}};
    d->step(row);
    std::vector<float> logits(vocabulary());
    d->read_logits(logits);
    decoded.insert(decoded.end(), logits.begin(), logits.end());
    d->read_next(std::span(&chosen, 1));
  }
  EXPECT_TRUE(bitwise_equal(prefilled, decoded));
  EXPECT_EQ(next, chosen);
}

TEST_P(DecoderTest, SamplingDependsOnSeedAndPositionOnly) {
  const auto d = decoder(8, {1, 8});
  d->record();
  const Sampling sampling{.temperature = 1.5F, .seed = 42};
  Batch batch = start(*d, 6, sampling);
  const StepOutput together = step(*d, batch, RunMode::automatic);
  rewind(batch);
  const std::vector<DecodeRow> alone{batch.rows[3]};
  d->step(alone);
  std::int32_t chosen = -1;
  d->read_next(std::span(&chosen, 1));
  EXPECT_EQ(chosen, together.next[3]);
}

TEST_P(DecoderTest, RunsEagerlyAfterARecordingThatFailed) {
  const auto d = decoder(1, {1});
  Stream& stream = d->stream();
  // Recording inside a recording is refused.
  EXPECT_THROW((void)capture(stream, [&] { d->record(); }), CaptureError);
  Batch batch = start(*d, 1);
  const StepOutput eager = step(*d, batch, RunMode::automatic);
  EXPECT_EQ(result_.path, RunPath::eager);
  EXPECT_EQ(result_.reason, FallbackReason::not_recorded);
  d->record();
  rewind(batch);
  const StepOutput replay = step(*d, batch, RunMode::automatic);
  EXPECT_EQ(result_.path, RunPath::replay);
  EXPECT_TRUE(bitwise_equal(eager.logits, replay.logits));
}

TEST_P(DecoderTest, RefusesWhatDoesNotFitAndStaysUsable) {
  const auto d = decoder(1, {1});
  Sequence sequence = d->new_sequence();
  EXPECT_THROW(d->prefill(sequence, Tokens{}, {}), UsageError);
  EXPECT_THROW(d->prefill(sequence, Tokens{-1}, {}), UsageError);
  EXPECT_THROW(d->prefill(sequence, Tokens{static_cast<std::int32_t>(vocabulary())}, {}),
               UsageError);
  EXPECT_THROW(d->prefill(sequence, Tokens(97, 1), {}), UsageError);
  EXPECT_EQ(sequence.length(), 0);
  EXPECT_NO_THROW(d->prefill(sequence, Tokens(96, 1), {}));
  const std::vector<DecodeRow> full{{&sequence, 1, {}}};
  EXPECT_THROW(d->step(full), UsageError);
  EXPECT_EQ(sequence.length(), 96);
  Sequence second = d->new_sequence();
  EXPECT_THROW(d->prefill(second, Tokens(20, 1), {}), OutOfMemory);
  EXPECT_EQ(second.length(), 0);
}

INSTANTIATE_TEST_SUITE_P(Models, DecoderTest,
                         ::testing::Values("llama-mha-bf16", "llama3-gqa-tied-f16",
                                           "mistral-sliding-bf16", "qwen2-bias-sharded-bf16"),
                         [](const auto& model) {
                           std::string name = model.param;
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace reprise
