// SPDX-License-Identifier: Apache-2.0
// The decode step with overlapping kernels, some of whose warps sleep (kernels/cuda/pdl.cuh), again
// and again: a wait that is missing somewhere would show as other bits than the plain run's.
#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/decoder.h"
#include "kernels/cuda/kernels.h"
#include "support/f32_copy.h"
#include "support/golden.h"

namespace reprise::test {
namespace {

constexpr int kReplays = 1000;
constexpr int kContext = 48;
const std::vector<int> kRows = {1, 8, 40, 80};  // above 64 cuBLASLt multiplies

struct Output {
  std::vector<float> logits;
  std::vector<std::int32_t> next;

  bool operator==(const Output& other) const {
    return next == other.next && logits.size() == other.logits.size() &&
           std::memcmp(logits.data(), other.logits.data(), logits.size() * sizeof(float)) == 0;
  }
};

/// A recorded decoder and a batch of which it makes the same step as often as one likes.
class Repeated {
 public:
  Repeated(const std::shared_ptr<Device>& device, const std::filesystem::path& model,
           bool programmatic)
      : source_(open_model(model.string())),
        decoder_(device, source_,
                 {.max_batch = kRows.back(),
                  .sizes = kRows,
                  .max_context = kContext,
                  .programmatic_launch = programmatic,
                  .on_note = {}}) {
    EXPECT_TRUE(decoder_.record().disabled.empty());
  }

  /// Sequences of random lengths, the same for the same number of rows.
  void start(int rows) {
    std::mt19937 random(static_cast<unsigned>(rows));
    rows_.clear();
    sequences_.clear();
    lengths_.clear();
    sequences_.reserve(static_cast<std::size_t>(rows));
    const auto vocabulary = static_cast<std::uint32_t>(decoder_.model().config().vocabulary);
    for (int row = 0; row < rows; ++row) {
      std::vector<std::int32_t> prompt(1 + random() % (kContext - 2));
      for (std::int32_t& token : prompt) token = static_cast<std::int32_t>(random() % vocabulary);
      const Sampling sampling{.temperature = row % 2 == 0 ? 0.0f : 0.9f, .seed = row};
      sequences_.push_back(decoder_.new_sequence());
      const std::int32_t next = decoder_.prefill(sequences_.back(), prompt, sampling);
      lengths_.push_back(sequences_.back().length());
      rows_.push_back({&sequences_.back(), next, sampling});
    }
  }

  Output step() {
    for (std::size_t row = 0; row < rows_.size(); ++row) sequences_[row].set_length(lengths_[row]);
    EXPECT_EQ(decoder_.step(rows_).path, RunPath::replay);
    Output out;
    out.logits.resize(rows_.size() *
                      static_cast<std::size_t>(decoder_.model().config().vocabulary));
    out.next.resize(rows_.size());
    decoder_.read_logits(out.logits);
    decoder_.read_next(out.next);
    return out;
  }

  std::size_t nodes(int rows) { return decoder_.pool().graph(rows).node_count(); }
  std::size_t programmatic_edges(int rows) {
    std::size_t edges = 0;
    for (const GraphNode& node : decoder_.pool().graph(rows).nodes()) {
      edges += node.programmatic.size();
    }
    return edges;
  }

 private:
  const ModelSource source_;
  Decoder decoder_;
  std::vector<Sequence> sequences_;
  std::vector<DecodeRow> rows_;
  std::vector<std::int64_t> lengths_;
};

void expect_same_bits(const std::filesystem::path& model) {
  ASSERT_TRUE(cuda_kernels::jittered()) << "this program has to hold kernels of its own";
  const auto device = Device::open("cuda");
  if (device->properties().compute_capability < 90) {
    GTEST_SKIP() << "programmatic launch needs compute capability 9.0";
  }
  Repeated plain(device, model, false);
  Repeated overlapped(device, model, true);
  for (const int rows : kRows) {
    EXPECT_EQ(plain.programmatic_edges(rows), 0u);
    // A chain of kernels of our own; those of a library wait for all before them.
    if (rows <= cuda_kernels::kFamilyRows) {
      EXPECT_EQ(overlapped.programmatic_edges(rows), overlapped.nodes(rows) - 1);
    }
    EXPECT_GT(overlapped.programmatic_edges(rows), 10u);
    plain.start(rows);
    overlapped.start(rows);
    const Output expected = plain.step();
    int different = 0;
    for (int i = 0; i < kReplays; ++i) different += overlapped.step() == expected ? 0 : 1;
    EXPECT_EQ(different, 0) << "of " << kReplays << " replays with " << rows << " rows";
  }
}

class Jitter : public testing::TestWithParam<const char*> {};

TEST_P(Jitter, AThousandReplaysGiveTheBitsOfThePlainRun) {
  const auto folder = golden_folder(GetParam());
  if (!folder) GTEST_SKIP() << GetParam() << " is not present";
  expect_same_bits(*folder);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Jitter,
                         testing::Values("llama3-gqa-tied-f16", "mistral-sliding-bf16",
                                         "llama-hd64-bf16"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(JitterF32, AThousandReplaysGiveTheBitsOfThePlainRun) {
  const auto folder = golden_folder("llama-mha-bf16");
  if (!folder) GTEST_SKIP() << "llama-mha-bf16 is not present";
  const F32Copy copy(*folder);
  expect_same_bits(copy.folder());
}

}  // namespace
}  // namespace reprise::test
