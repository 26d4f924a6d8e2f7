// SPDX-License-Identifier: Apache-2.0
// The pool over ordinary memory: growing, limits, failures of the upstream, recordings, counts.
#include "memory/pool_core.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/error.h>
#include <reprise/memory_adaptors.h>

#include "memory/support/address_upstream.h"
#include "memory/support/host_upstream.h"

namespace reprise {
namespace {

using testing::HostUpstream;

constexpr std::size_t kKiB = 1024;

PoolCore make_core(std::shared_ptr<MemoryResource> upstream, std::size_t segment_bytes = 64 * kKiB,
                   std::size_t limit_bytes = 0) {
  return {{.name = "step", .segment_bytes = segment_bytes, .limit_bytes = limit_bytes},
          std::move(upstream),
          [] { return std::string("host:0 has 1.0 GiB free"); }};
}

/// What `call` throws as an E, or "" (and a failure) if it does not.
template <class E, class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

void expect_balanced(const MemoryStatistics& statistics) {
  for (const MemoryCounter& counter :
       {statistics.allocation, statistics.allocated_bytes, statistics.requested_bytes,
        statistics.segment, statistics.reserved_bytes, statistics.inactive_split,
        statistics.inactive_split_bytes}) {
    EXPECT_EQ(counter.current, counter.allocated - counter.freed);
    EXPECT_GE(counter.peak, counter.current);
    EXPECT_GE(counter.allocated, counter.peak);
  }
  EXPECT_GE(statistics.reserved_bytes.current,
            statistics.allocated_bytes.current + statistics.inactive_split_bytes.current);
  EXPECT_GE(statistics.allocated_bytes.current, statistics.requested_bytes.current);
}

TEST(PoolCore, BlocksAreAlignedRoundedAndTheirs) {
  PoolCore core = make_core(std::make_shared<HostUpstream>());
  const auto empty = core.allocate(0, "nothing", nullptr);
  const auto small = core.allocate(1, "small", nullptr);
  const auto large = core.allocate(200 * kKiB + 1, "large", nullptr);
  EXPECT_EQ(empty.bytes, 512u);
  EXPECT_EQ(small.bytes, 512u);
  EXPECT_EQ(large.bytes, 200 * kKiB + 512);
  EXPECT_NE(empty.data, small.data);
  for (const auto& block : {empty, small, large}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data) % 512, 0u);
    std::memset(block.data, 0xab, block.bytes);  // a sanitizer tells if it is not ours
  }
}

TEST(PoolCore, CountsExactly) {
  PoolCore core = make_core(std::make_shared<HostUpstream>());
  const auto first = core.allocate(1000, "first", nullptr);
  const auto second = core.allocate(3000, "second", nullptr);
  core.give_back(first.data, nullptr);
  const MemoryStatistics& now = core.statistics();
  EXPECT_EQ(now.allocation.current, 1u);
  EXPECT_EQ(now.allocation.peak, 2u);
  EXPECT_EQ(now.allocated_bytes.current, 3072u);
  EXPECT_EQ(now.allocated_bytes.peak, 4096u);
  EXPECT_EQ(now.allocated_bytes.freed, 1024u);
  EXPECT_EQ(now.requested_bytes.current, 3000u);
  EXPECT_EQ(now.requested_bytes.allocated, 4000u);
  EXPECT_EQ(now.segment.current, 1u);
  EXPECT_EQ(now.reserved_bytes.current, 64 * kKiB);
  EXPECT_EQ(now.inactive_split.current, 2u);
  EXPECT_EQ(now.inactive_split_bytes.current, 64 * kKiB - 3072);
  EXPECT_DOUBLE_EQ(now.fragmentation(), 1 - 4096.0 / 65536.0);
  expect_balanced(now);

  core.reset_peak_stats();
  EXPECT_EQ(core.statistics().allocated_bytes.peak, 3072u);
  core.give_back(second.data, nullptr);
  EXPECT_EQ(core.statistics().inactive_split.current, 0u);
  EXPECT_EQ(core.trim(), 64 * kKiB);
  EXPECT_EQ(core.statistics().reserved_bytes.current, 0u);
  EXPECT_EQ(core.statistics().fragmentation(), 0);
  expect_balanced(core.statistics());
}

TEST(PoolCore, SnapshotCoversTheSegmentsAndNamesTheOwners) {
  PoolCore core = make_core(std::make_shared<HostUpstream>());
  const auto first = core.allocate(1000, "first", nullptr);
  const auto second = core.allocate(500, "second", nullptr);
  core.give_back(first.data, nullptr);
  const auto segments = core.snapshot();
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0].address, reinterpret_cast<std::uintptr_t>(first.data));
  ASSERT_EQ(segments[0].blocks.size(), 3u);
  EXPECT_FALSE(segments[0].blocks[0].allocated);
  EXPECT_EQ(segments[0].blocks[0].label, "");
  EXPECT_EQ(segments[0].blocks[0].requested_bytes, 0u);
  EXPECT_EQ(segments[0].blocks[1].label, "second");
  EXPECT_EQ(segments[0].blocks[1].requested_bytes, 500u);
  EXPECT_EQ(segments[0].blocks[1].offset, 1024u);
  EXPECT_EQ(segments[0].blocks[2].offset + segments[0].blocks[2].bytes, segments[0].bytes);
  core.give_back(second.data, nullptr);
}

/// A step that takes and gives back scratch; the addresses it saw.
std::vector<void*> run_step(PoolCore& core, const RecordingSite* site) {
  std::vector<void*> seen;
  std::vector<void*> held;
  for (const std::size_t bytes : {9000u, 700u, 120'000u, 512u, 9000u, 33'000u, 4096u}) {
    held.push_back(core.allocate(bytes, "scratch", site).data);
    seen.push_back(held.back());
    if (held.size() == 3) {
      core.give_back(held[1], site);
      held.erase(held.begin() + 1);
    }
  }
  for (void* data : held) core.give_back(data, site);
  return seen;
}

TEST(PoolCore, AWarmUpMakesRoomForTheRecording) {
  PoolCore core = make_core(std::make_shared<HostUpstream>());
  run_step(core, nullptr);
  const auto eager = run_step(core, nullptr);
  const auto segments = core.statistics().segment.allocated;
  const RecordingSite site{7, "main"};
  EXPECT_EQ(run_step(core, &site), eager);
  EXPECT_EQ(core.statistics().segment.allocated, segments);
}

TEST(PoolCore, RefusesToGrowInsideARecordingAndStaysUsable) {
  PoolCore core = make_core(std::make_shared<HostUpstream>());
  const RecordingSite site{7, "main"};
  EXPECT_EQ(
      message_of<CaptureError>([&] { core.allocate(3 * kKiB * kKiB, "logits", &site); }),
      "pool 'step' must grow by 3.0 MiB for 'logits' inside recording 7 on stream 'main'; run "
      "the step once before recording it (warm up) or call reserve(3145728) before");
  EXPECT_THROW(core.reserve(100, &site), CaptureError);
  EXPECT_EQ(core.statistics().segment.allocated, 0u);
  EXPECT_EQ(core.statistics().num_ooms, 0u);

  core.reserve(3 * kKiB * kKiB, nullptr);
  core.reserve(3 * kKiB * kKiB, &site);  // nothing to do
  const auto block = core.allocate(3 * kKiB * kKiB, "logits", &site);
  core.give_back(block.data, nullptr);
  EXPECT_EQ(core.statistics().segment.allocated, 1u);
}

TEST(PoolCore, GivesNothingBackInsideARecording) {
  // What is free could be given back to make room; but giving back may end a recording.
  PoolCore core = make_core(std::make_shared<HostUpstream>());
  core.give_back(core.allocate(1000, "before", nullptr).data, nullptr);
  const auto before = core.statistics();
  const RecordingSite site{7, "main"};
  EXPECT_THROW(core.allocate(3 * kKiB * kKiB, "logits", &site), CaptureError);
  const auto after = core.statistics();
  EXPECT_EQ(after.reserved_bytes.current, before.reserved_bytes.current);
  EXPECT_EQ(after.segment.freed, before.segment.freed);
  EXPECT_EQ(after.num_alloc_retries, 0u);
}

TEST(PoolCore, KeepsSegmentsThatARecordingUsed) {
  PoolCore core = make_core(std::make_shared<HostUpstream>());
  core.reserve(64 * kKiB, nullptr);
  const RecordingSite site{1, "main"};
  const auto recorded = core.allocate(100, "scratch", &site);  // in the first segment
  const auto fills_it = core.allocate(63 * kKiB, "eager", nullptr);
  const auto eager = core.allocate(64 * kKiB, "eager", nullptr);  // in the second
  core.give_back(recorded.data, nullptr);
  core.give_back(fills_it.data, nullptr);
  core.give_back(eager.data, nullptr);
  EXPECT_EQ(core.trim(), 64 * kKiB);
  EXPECT_EQ(core.trim(), 0u);
  EXPECT_EQ(core.allocate(100, "again", nullptr).data, recorded.data);
}

TEST(PoolCore, KeepsSegmentsOfBlocksGivenBackInARecording) {
  PoolCore core = make_core(std::make_shared<HostUpstream>());
  const RecordingSite site{1, "main"};
  const auto block = core.allocate(100, "input", nullptr);
  core.give_back(block.data, &site);
  EXPECT_EQ(core.trim(), 0u);
}

TEST(PoolCore, HonoursItsLimitToTheLastBlock) {
  PoolCore core = make_core(std::make_shared<HostUpstream>(), 64 * kKiB, 100 * kKiB);
  const auto first = core.allocate(64 * kKiB, "first", nullptr);
  const auto second = core.allocate(36 * kKiB, "second", nullptr);
  EXPECT_EQ(core.statistics().reserved_bytes.current, 100 * kKiB);
  EXPECT_EQ(message_of<OutOfMemory>([&] { core.allocate(1000, "third", nullptr); }),
            "pool 'step' has no room for 1000 bytes (1000 B) for 'third': reserved 100.0 KiB, "
            "allocated 100.0 KiB, largest free block 0 B, limit 100.0 KiB; host:0 has 1.0 GiB "
            "free; cause: the pool's limit_bytes does not allow it; release blocks, ask for less, "
            "or raise the limit");
  EXPECT_EQ(core.statistics().num_ooms, 1u);
  EXPECT_EQ(core.statistics().num_alloc_retries, 0u);
  core.give_back(first.data, nullptr);
  EXPECT_EQ(core.allocate(1000, "third", nullptr).data, first.data);
  core.give_back(second.data, nullptr);
}

TEST(PoolCore, TrimsFreeSegmentsAndTriesAgain) {
  const auto limit = std::make_shared<LimitResource>(std::make_shared<HostUpstream>(), 128 * kKiB);
  PoolCore core = make_core(limit);
  const auto first = core.allocate(64 * kKiB, "first", nullptr);
  const auto second = core.allocate(64 * kKiB, "second", nullptr);
  core.give_back(first.data, nullptr);
  core.give_back(second.data, nullptr);
  const auto whole = core.allocate(128 * kKiB, "whole", nullptr);
  EXPECT_EQ(whole.bytes, 128 * kKiB);
  EXPECT_EQ(core.statistics().num_alloc_retries, 1u);
  EXPECT_EQ(core.statistics().num_ooms, 0u);
  EXPECT_EQ(core.statistics().segment.current, 1u);
  expect_balanced(core.statistics());
}

TEST(PoolCore, OneFailedAllocationOfTheUpstreamIsRetriedWhereSomethingCouldBeGivenBack) {
  const auto failing = std::make_shared<FailingResource>(std::make_shared<HostUpstream>(),
                                                         FailingResource::Plan::nth, 2);
  PoolCore core = make_core(failing);
  core.reserve(64 * kKiB, nullptr);
  EXPECT_NO_THROW(core.allocate(100 * kKiB, "large", nullptr));
  EXPECT_EQ(core.statistics().num_alloc_retries, 1u);
  EXPECT_EQ(failing->failures(), 1u);
}

TEST(PoolCore, TellsTheCauseWhenTheRetryFailsToo) {
  const auto limit = std::make_shared<LimitResource>(std::make_shared<HostUpstream>(), 100 * kKiB);
  PoolCore core = make_core(limit);
  core.reserve(64 * kKiB, nullptr);
  const auto message =
      message_of<OutOfMemory>([&] { core.allocate(200 * kKiB, "large", nullptr); });
  EXPECT_NE(
      message.find("200.0 KiB (204800 bytes) on top of 0 B would pass the limit of 100.0 KiB"),
      std::string::npos)
      << message;
  EXPECT_EQ(core.statistics().num_alloc_retries, 1u);
  EXPECT_EQ(core.statistics().num_ooms, 1u);
}

TEST(PoolCore, RefusesSizesThatNoDeviceHas) {
  PoolCore core = make_core(std::make_shared<HostUpstream>());
  EXPECT_THROW(core.allocate(~std::size_t{0}, "", nullptr), OutOfMemory);
  EXPECT_THROW(core.reserve(~std::size_t{0}, nullptr), OutOfMemory);
  EXPECT_EQ(core.statistics().num_ooms, 2u);
}

TEST(PoolCore, AlignsWhatAnUpstreamDidNot) {
  const auto statistics = std::make_shared<StatisticsResource>(std::make_shared<HostUpstream>(256));
  {
    PoolCore core = make_core(statistics);
    const auto small = core.allocate(100, "small", nullptr);
    const auto exact = core.allocate(128 * kKiB, "exact", nullptr);
    for (const auto& block : {small, exact}) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data) % 512, 0u);
      std::memset(block.data, 1, block.bytes);
    }
    EXPECT_EQ(core.statistics().reserved_bytes.current, statistics->bytes().current);
    EXPECT_EQ(core.snapshot()[0].bytes, 64 * kKiB - 512);
  }
  EXPECT_EQ(statistics->bytes().current, 0u);
}

/// Uses a pool as steps do, takes every OutOfMemory as it comes, and gives everything back.
/// Returns how many requests failed.
int run_scenario(PoolCore& core) {
  int failed = 0;
  std::vector<void*> held;
  for (int round = 0; round < 4; ++round) {
    for (const std::size_t bytes : {1000u, 70'000u, 40'000u, 200'000u, 512u}) {
      const MemoryStatistics before = core.statistics();
      try {
        const auto block = core.allocate(bytes, "scenario", nullptr);
        std::memset(block.data, round, block.bytes);
        held.push_back(block.data);
      } catch (const OutOfMemory&) {
        ++failed;
        EXPECT_EQ(core.statistics().allocated_bytes.current, before.allocated_bytes.current);
        EXPECT_EQ(core.statistics().num_ooms, before.num_ooms + 1);
      }
      expect_balanced(core.statistics());
    }
    while (held.size() > static_cast<std::size_t>(round)) {
      core.give_back(held.front(), nullptr);
      held.erase(held.begin());
    }
    core.trim();
  }
  for (void* data : held) core.give_back(data, nullptr);
  return failed;
}

TEST(PoolCore, SurvivesAFailureOfEachAllocationOfItsUpstream) {
  std::uint64_t attempts = 1;
  int failed = 0;
  for (std::uint64_t nth = 0; nth <= attempts; ++nth) {  // 0: none fails, which tells how many
    SCOPED_TRACE(nth);
    const auto statistics = std::make_shared<StatisticsResource>(std::make_shared<HostUpstream>());
    const auto failing =
        std::make_shared<FailingResource>(statistics, FailingResource::Plan::nth, nth);
    {
      PoolCore core = make_core(failing);
      failed += run_scenario(core);
      if (nth == 0) attempts = failing->attempts();
      EXPECT_EQ(failing->failures(), nth == 0 ? 0u : 1u);
      EXPECT_EQ(core.statistics().allocated_bytes.current, 0u);
      EXPECT_EQ(core.statistics().reserved_bytes.current, statistics->bytes().current);
      EXPECT_NO_THROW(core.give_back(core.allocate(300'000, "after", nullptr).data, nullptr));
    }
    EXPECT_EQ(statistics->allocations().current, 0u);
    EXPECT_EQ(statistics->bytes().current, 0u);
    EXPECT_EQ(statistics->bytes().allocated, statistics->bytes().freed);
  }
  EXPECT_GT(attempts, 5u);
  EXPECT_GT(failed, 0);
}

TEST(PoolCore, SurvivesAnUpstreamThatFailsEverySecondTime) {
  const auto statistics = std::make_shared<StatisticsResource>(std::make_shared<HostUpstream>());
  {
    PoolCore core =
        make_core(std::make_shared<FailingResource>(statistics, FailingResource::Plan::every, 2));
    EXPECT_GT(run_scenario(core), 0);
    EXPECT_EQ(core.statistics().allocation.current, 0u);
  }
  EXPECT_EQ(statistics->bytes().current, 0u);
}

TEST(PoolCore, LengthensItsNewestSegmentByWhatIsMissing) {
  constexpr std::size_t kMiB = 1024 * kKiB;
  const auto upstream = std::make_shared<testing::AddressUpstream>(2 * kMiB);
  PoolCore core({.name = "step"}, upstream, [] { return std::string(); });
  const auto first = core.allocate(kMiB, "first", nullptr);
  const auto second = core.allocate(4 * kMiB, "second", nullptr);  // 1 MiB is there
  EXPECT_EQ(static_cast<std::byte*>(second.data), static_cast<std::byte*>(first.data) + kMiB);
  EXPECT_EQ(core.statistics().reserved_bytes.current, 6 * kMiB);
  EXPECT_EQ(core.statistics().segment.current, 1u);
  EXPECT_EQ(core.statistics().num_device_alloc, 2u);
  EXPECT_EQ(core.statistics().inactive_split_bytes.current, kMiB);
  const auto third = core.allocate(kMiB, "third", nullptr);  // the rest
  const auto fourth = core.allocate(512, "fourth", nullptr);
  EXPECT_EQ(core.statistics().reserved_bytes.current, 8 * kMiB);
  expect_balanced(core.statistics());
  for (const auto& block : {second, fourth, first, third}) core.give_back(block.data, nullptr);
  ASSERT_EQ(core.snapshot().size(), 1u);
  EXPECT_EQ(core.snapshot()[0].blocks.size(), 1u);
  EXPECT_EQ(core.snapshot()[0].bytes, 8 * kMiB);
  EXPECT_EQ(core.allocate(8 * kMiB, "all", nullptr).data, first.data);
  EXPECT_EQ(upstream->mapped_bytes(), 8 * kMiB);
}

TEST(PoolCore, AnExtensionKeepsTheLimitAndARecordingForbidsIt) {
  constexpr std::size_t kMiB = 1024 * kKiB;
  const auto failing = std::make_shared<FailingResource>(
      std::make_shared<testing::AddressUpstream>(2 * kMiB), FailingResource::Plan::nth, 2);
  PoolCore core({.name = "step", .limit_bytes = 5 * kMiB}, failing, [] { return std::string(); });
  const auto first = core.allocate(kMiB, "first", nullptr);
  const RecordingSite site{1, "main"};
  EXPECT_THROW((void)core.allocate(2 * kMiB, "recorded", &site), CaptureError);
  EXPECT_THROW((void)core.allocate(2 * kMiB, "planned to fail", nullptr), OutOfMemory);
  EXPECT_EQ(core.statistics().reserved_bytes.current, 2 * kMiB);
  const auto second = core.allocate(3 * kMiB, "second", nullptr);
  EXPECT_EQ(core.statistics().reserved_bytes.current, 4 * kMiB);
  EXPECT_THROW((void)core.allocate(kMiB, "above the limit", nullptr), OutOfMemory);
  EXPECT_EQ(core.statistics().num_ooms, 2u);
  core.give_back(first.data, nullptr);
  core.give_back(second.data, nullptr);
  EXPECT_EQ(core.trim(), 4 * kMiB);
  EXPECT_EQ(core.statistics().num_device_free, 1u);
  expect_balanced(core.statistics());
}

TEST(PoolCore, SumsAndPeaksAreResetApart) {
  PoolCore core = make_core(std::make_shared<HostUpstream>());
  const auto held = core.allocate(1000, "held", nullptr);
  core.give_back(core.allocate(3000, "gone", nullptr).data, nullptr);
  core.reset_accumulated_stats();
  EXPECT_EQ(core.statistics().allocated_bytes.allocated, 0u);
  EXPECT_EQ(core.statistics().allocated_bytes.freed, 0u);
  EXPECT_EQ(core.statistics().num_device_alloc, 0u);
  EXPECT_EQ(core.statistics().allocated_bytes.peak, 4096u);
  EXPECT_EQ(core.statistics().allocated_bytes.current, 1024u);
  core.reset_peak_stats();
  EXPECT_EQ(core.statistics().allocated_bytes.peak, 1024u);
  EXPECT_EQ(core.statistics().reserved_bytes.peak, 64 * kKiB);
  core.give_back(held.data, nullptr);
}

}  // namespace
}  // namespace reprise
