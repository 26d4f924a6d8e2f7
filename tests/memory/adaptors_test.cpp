// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <reprise/error.h>
#include <reprise/memory_adaptors.h>

#include "memory/support/address_upstream.h"
#include "memory/support/host_upstream.h"

namespace reprise {
namespace {

using testing::HostUpstream;

TEST(LimitResource, RefusesWhatWouldPassTheLimitAndNothingElse) {
  LimitResource limit(std::make_shared<HostUpstream>(), 1000);
  void* const first = limit.allocate(600);
  EXPECT_THROW(limit.allocate(401), OutOfMemory);
  EXPECT_THROW(limit.allocate(~std::size_t{0}), OutOfMemory);
  void* const second = limit.allocate(400);
  EXPECT_EQ(limit.outstanding_bytes(), 1000u);
  limit.deallocate(first, 600);
  limit.deallocate(limit.allocate(600), 600);
  limit.deallocate(second, 400);
  EXPECT_EQ(limit.outstanding_bytes(), 0u);
}

TEST(LimitResource, DoesNotCountWhatItsUpstreamRefused) {
  const auto failing = std::make_shared<FailingResource>(std::make_shared<HostUpstream>(),
                                                         FailingResource::Plan::nth, 1);
  LimitResource limit(failing, 1000);
  EXPECT_THROW(limit.allocate(10), OutOfMemory);
  EXPECT_EQ(limit.outstanding_bytes(), 0u);
}

TEST(StatisticsResource, CountsWhatPassedThrough) {
  StatisticsResource statistics(std::make_shared<FailingResource>(std::make_shared<HostUpstream>(),
                                                                  FailingResource::Plan::nth, 3));
  void* const first = statistics.allocate(100);
  void* const second = statistics.allocate(50);
  EXPECT_THROW(statistics.allocate(1000), OutOfMemory);
  statistics.deallocate(first, 100);
  EXPECT_EQ(statistics.allocations().current, 1u);
  EXPECT_EQ(statistics.allocations().peak, 2u);
  EXPECT_EQ(statistics.bytes().current, 50u);
  EXPECT_EQ(statistics.bytes().peak, 150u);
  EXPECT_EQ(statistics.bytes().freed, 100u);
  statistics.deallocate(second, 50);
}

TEST(FailingResource, FailsTheNthOnly) {
  FailingResource failing(std::make_shared<HostUpstream>(), FailingResource::Plan::nth, 2);
  failing.deallocate(failing.allocate(8), 8);
  EXPECT_THROW(failing.allocate(8), OutOfMemory);
  failing.deallocate(failing.allocate(8), 8);
  failing.deallocate(failing.allocate(8), 8);
  EXPECT_EQ(failing.attempts(), 4u);
  EXPECT_EQ(failing.failures(), 1u);
}

TEST(FailingResource, FailsEveryNth) {
  FailingResource failing(std::make_shared<HostUpstream>(), FailingResource::Plan::every, 2);
  for (int round = 0; round < 3; ++round) {
    failing.deallocate(failing.allocate(8), 8);
    EXPECT_THROW(failing.allocate(8), OutOfMemory);
  }
  EXPECT_EQ(failing.failures(), 3u);
}

TEST(Adaptors, CountWhatIsAddedInPlace) {
  const auto addresses = std::make_shared<testing::AddressUpstream>(2048);
  const auto failing = std::make_shared<FailingResource>(addresses, FailingResource::Plan::nth, 3);
  const auto limit = std::make_shared<LimitResource>(failing, 10'240);
  StatisticsResource statistics(limit);
  EXPECT_EQ(statistics.granularity(), 2048u);
  void* const data = statistics.allocate(2048);
  EXPECT_TRUE(statistics.extend(data, 2048, 4096));
  EXPECT_THROW((void)statistics.extend(data, 6144, 2048), OutOfMemory);  // as planned
  EXPECT_THROW((void)statistics.extend(data, 6144, 6144), OutOfMemory);  // above the limit
  EXPECT_FALSE(statistics.extend(data, 1, 2048));
  EXPECT_EQ(limit->outstanding_bytes(), 6144u);
  EXPECT_EQ(statistics.bytes().current, 6144u);
  EXPECT_EQ(statistics.allocations().current, 1u);
  EXPECT_EQ(failing->attempts(), 4u);
  statistics.deallocate(data, 6144);
  EXPECT_EQ(limit->outstanding_bytes(), 0u);
  EXPECT_EQ(addresses->mapped_bytes(), 0u);
}

TEST(Adaptors, RefuseToWrapNothing) {
  EXPECT_THROW(LimitResource(nullptr, 1), UsageError);
  EXPECT_THROW(StatisticsResource(nullptr), UsageError);
  EXPECT_THROW(FailingResource(nullptr, FailingResource::Plan::nth, 1), UsageError);
}

}  // namespace
}  // namespace reprise
