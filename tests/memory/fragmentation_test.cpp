// SPDX-License-Identifier: Apache-2.0
// Fragmentation as DESIGN §6 has it: after a ladder, and after 10,000 eager, prefill and lazily
// recorded steps of random sizes through the same pool. Requests are those of decoders of the 7B
// and the 1.1B shape; there is no memory behind the addresses.
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "memory/pool_core.h"
#include "memory/support/address_upstream.h"

namespace reprise {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr double kMust = 0.05;

struct Decoder {
  std::size_t hidden, inner, query, kv, vocabulary;

  /// The blocks that a step of `rows` rows holds together, `logits` rows of them chosen from.
  std::vector<std::size_t> step(std::size_t rows, std::size_t logits) const {
    return {rows * hidden * 4,       rows * hidden * 2,    rows * (query + 2 * kv) * 2,
            rows * query * 2,        rows * 2 * inner * 2, rows * inner * 2,
            logits * vocabulary * 4, rows * 64 * 4,        8 * kMiB};
  }
};

class Fragmentation : public ::testing::TestWithParam<Decoder> {
 protected:
  void run(const std::vector<std::size_t>& blocks, const RecordingSite* site) {
    std::vector<void*> held;
    for (const std::size_t bytes : blocks) held.push_back(core_.allocate(bytes, "", site).data);
    while (!held.empty()) {
      core_.give_back(held.back(), site);
      held.pop_back();
    }
  }
  void record_ladder() {
    std::vector<std::size_t> sizes = {1, 2, 4, 8};
    for (std::size_t size = 16; size <= 256; size += 8) sizes.push_back(size);
    for (const RecordingSite* site : {static_cast<const RecordingSite*>(nullptr), &site_}) {
      for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
        run(GetParam().step(*size, *size), site);
      }
    }
  }
  std::size_t random(std::size_t most) { return 1 + rng_() % most; }
  std::vector<std::size_t> other_step() {
    std::vector<std::size_t> blocks(random(12));
    for (std::size_t& bytes : blocks) bytes = random(std::size_t{1} << (10 + rng_() % 13));
    return blocks;
  }
  void run_at_random() {
    switch (rng_() % 4) {
      case 0:
        return run(GetParam().step(random(300), random(300)), nullptr);  // eager
      case 1:
        return run(GetParam().step(random(512), 8), nullptr);  // prefill
      case 2: {
        const auto blocks = other_step();
        run(blocks, nullptr);  // warm-up of a size recorded lazily
        return run(blocks, &site_);
      }
      default:
        return run(other_step(), nullptr);
    }
  }

  const RecordingSite site_{1, "main"};
  std::mt19937 rng_{7};
  std::shared_ptr<testing::AddressUpstream> upstream_ =
      std::make_shared<testing::AddressUpstream>(2 * kMiB);
  PoolCore core_{{.name = "decode"}, upstream_, [] { return std::string(); }};
};

TEST_P(Fragmentation, StaysLowAfterALadderAndTenThousandOtherSteps) {
  record_ladder();
  EXPECT_LE(core_.statistics().fragmentation(), kMust);
  for (int i = 0; i < 10'000; ++i) run_at_random();
  const MemoryStatistics& now = core_.statistics();
  EXPECT_LE(now.fragmentation(), kMust);
  EXPECT_EQ(now.reserved_bytes.current, upstream_->mapped_bytes());
  EXPECT_EQ(now.segment.current, 1u);
  EXPECT_EQ(now.allocated_bytes.current, 0u);
  RecordProperty("per_mille", static_cast<int>(1000 * now.fragmentation()));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Fragmentation,
                         ::testing::Values(Decoder{4096, 11008, 4096, 4096, 32000},
                                           Decoder{2048, 5632, 2048, 256, 32000}));

// Why a segment has to grow: what a recording has used stays, and what comes later is larger than
// any of its pieces.
TEST(FragmentationOfPieces, IsHighWhereSegmentsCannotGrow) {
  const auto upstream = std::make_shared<testing::AddressUpstream>(2 * kMiB, false);
  PoolCore core({.name = "decode"}, upstream, [] { return std::string(); });
  const RecordingSite site{1, "main"};
  for (const std::size_t bytes : {4 * kMiB, 6 * kMiB, 8 * kMiB}) {
    core.give_back(core.allocate(bytes, "", nullptr).data, nullptr);
    core.give_back(core.allocate(bytes, "", &site).data, &site);
  }
  EXPECT_GT(core.statistics().fragmentation(), 0.5);
}

}  // namespace
}  // namespace reprise
