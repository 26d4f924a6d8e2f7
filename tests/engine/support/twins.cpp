// SPDX-License-Identifier: Apache-2.0
#include "engine/support/twins.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/decoder.h"

namespace reprise::test {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr int kMostRows = 144;  // the ladder is 1, 2, 4, 8, then by 8: 130 rows make 136
constexpr int kContext = 64;
constexpr int kSteps = 4;

struct Output {
  std::vector<float> logits;
  Tokens next;
};

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// One decoder and the batch it works on.
class Twin {
 public:
  Twin(const std::shared_ptr<Device>& device, const ModelSource& source, RunMode mode)
      : mode_(mode),
        decoder_(device, source,
                 {.max_batch = kMostRows, .sizes = {}, .max_context = kContext, .on_note = {}}) {
    const RecordReport report = decoder_.record();
    EXPECT_TRUE(report.disabled.empty());
  }

  /// The same contexts for the same seed, whichever twin is asked.
  void start(int rows, unsigned seed) {
    std::mt19937 random(seed);
    rows_.clear();
    sequences_.clear();
    sequences_.reserve(static_cast<std::size_t>(rows));
    const auto vocabulary = static_cast<std::uint32_t>(decoder_.model().config().vocabulary);
    for (int row = 0; row < rows; ++row) {
      Tokens prompt(1 + random() % (kContext - kSteps));
      for (std::int32_t& token : prompt) token = static_cast<std::int32_t>(random() % vocabulary);
      const Sampling sampling{.temperature = row % 2 == 0 ? 0.0f : 0.9f, .seed = row};
      sequences_.push_back(decoder_.new_sequence());
      const std::int32_t next = decoder_.prefill(sequences_.back(), prompt, sampling);
      rows_.push_back({&sequences_.back(), next, sampling});
    }
  }

  Output step() { return run(rows_, mode_); }
  void feed(const Tokens& next) {
    for (std::size_t row = 0; row < rows_.size(); ++row) rows_[row].token = next[row];
  }
  void rewind() {
    for (Sequence& sequence : sequences_) sequence.set_length(sequence.length() - 1);
  }
  /// The step again with the rows in the opposite order.
  Output step_reversed() {
    rewind();
    return run({rows_.rbegin(), rows_.rend()}, mode_);
  }
  Output step_alone(std::size_t row) {
    sequences_[row].set_length(sequences_[row].length() - 1);
    return run({rows_[row]}, mode_);
  }

  /// The keys and values of all filled entries, row by row in each layer.
  std::vector<std::byte> entries() {
    KvCache& cache = decoder_.cache();
    std::vector<std::byte> all(static_cast<std::size_t>(cache.bytes()));
    cache.buffer().to_host(decoder_.stream(), all);
    const auto* const base = static_cast<const std::byte*>(cache.buffer().data());
    const auto bytes = static_cast<std::ptrdiff_t>(
        static_cast<std::size_t>(decoder_.model().config().kv_size()) * size_of(cache.dtype()));
    std::vector<std::byte> filled;
    for (const CacheLayer& layer : cache.layers()) {
      for (const void* side : {layer.keys, layer.values}) {
        const auto first = all.begin() + (static_cast<const std::byte*>(side) - base);
        for (const Sequence& sequence : sequences_) {
          for (std::int64_t entry = 0; entry < sequence.length(); ++entry) {
            const auto page = sequence.pages()[static_cast<std::size_t>(entry / kPageTokens)];
            const auto at = first + (page * kPageTokens + entry % kPageTokens) * bytes;
            filled.insert(filled.end(), at, at + bytes);
          }
        }
      }
    }
    return filled;
  }

  std::size_t vocabulary() const {
    return static_cast<std::size_t>(decoder_.model().config().vocabulary);
  }
  const RunResult& result() const noexcept { return result_; }

 private:
  Output run(const std::vector<DecodeRow>& rows, RunMode mode) {
    result_ = decoder_.step(rows, mode);
    Output out;
    out.logits.resize(rows.size() * vocabulary());
    out.next.resize(rows.size());
    decoder_.read_logits(out.logits);
    decoder_.read_next(out.next);
    return out;
  }

  RunMode mode_;
  Decoder decoder_;
  std::vector<Sequence> sequences_;
  std::vector<DecodeRow> rows_;
  RunResult result_;
};

/// Other slots and no neighbours change no bit of the row.
void expect_independent_rows(Twin& twin, const Output& step) {
  const std::size_t rows = step.next.size();
  const std::size_t width = twin.vocabulary();
  const auto row_of = [&](const Output& output, std::size_t row) {
    return std::span<const float>(output.logits).subspan(row * width, width);
  };
  const Output reversed = twin.step_reversed();
  for (std::size_t row = 0; row < rows; ++row) {
    EXPECT_TRUE(same_bits(row_of(step, row), row_of(reversed, rows - 1 - row))) << "row " << row;
    EXPECT_EQ(step.next[row], reversed.next[rows - 1 - row]) << "row " << row;
  }
  for (const std::size_t row : {std::size_t{0}, rows / 2, rows - 1}) {
    EXPECT_TRUE(same_bits(row_of(step, row), twin.step_alone(row).logits)) << "row " << row;
  }
}

void expect_equal_batches(Twin& replaying, Twin& eager, int rows) {
  replaying.start(rows, 1000u + static_cast<unsigned>(rows));
  eager.start(rows, 1000u + static_cast<unsigned>(rows));
  int bucket = 0;
  for (int i = 0; i < kSteps; ++i) {
    const Output replayed = replaying.step();
    const Output expected = eager.step();
    ASSERT_EQ(replaying.result().path, RunPath::replay);
    ASSERT_EQ(eager.result().path, RunPath::eager);
    bucket = replaying.result().bucket;
    ASSERT_EQ(bucket, eager.result().bucket);
    EXPECT_TRUE(same_bits(replayed.logits, expected.logits)) << "step " << i;
    EXPECT_EQ(replayed.next, expected.next) << "step " << i;
    if (i == kSteps - 1 && rows <= 64) expect_independent_rows(replaying, replayed);
    replaying.feed(expected.next);
    eager.feed(expected.next);
  }
  const std::vector<std::byte> entries = replaying.entries();
  EXPECT_FALSE(entries.empty());
  EXPECT_TRUE(entries == eager.entries()) << "the caches differ";
  std::printf("  %d rows in a bucket of %d: %d steps, %zu bytes of cache compared\n", rows, bucket,
              kSteps, entries.size());
  std::fflush(stdout);
}

}  // namespace

void expect_replay_equals_eager(const std::shared_ptr<Device>& device,
                                const std::filesystem::path& model) {
  const ModelSource source = open_model(model.string());
  Twin replaying(device, source, RunMode::automatic);
  Twin eager(device, source, RunMode::eager);
  std::printf("%s on %s, replay against eager:\n", model.filename().c_str(),
              device->label().c_str());
  for (const int rows : {1, 5, 8, 33, 64, 130}) {
    SCOPED_TRACE(std::to_string(rows) + " rows");
    expect_equal_batches(replaying, eager, rows);
  }
}

}  // namespace reprise::test
