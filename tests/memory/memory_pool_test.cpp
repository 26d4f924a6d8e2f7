// SPDX-License-Identifier: Apache-2.0
// The pool on a device: owners, recordings of the calling thread, threads.
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/error.h>
#include <reprise/graph.h>
#include <reprise/host.h>
#include <reprise/memory_adaptors.h>
#include <reprise/memory_pool.h>

#include "memory/support/host_upstream.h"

namespace reprise {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class MemoryPoolTest : public ::testing::Test {
 protected:
  const std::shared_ptr<Device> device_ = host::open({.threads = 1, .memory_limit = 64 * kMiB});
  const std::shared_ptr<StatisticsResource> upstream_ =
      std::make_shared<StatisticsResource>(std::make_shared<testing::HostUpstream>());
};

TEST_F(MemoryPoolTest, NeedsADevice) { EXPECT_THROW(MemoryPool::create(nullptr), UsageError); }

TEST_F(MemoryPoolTest, ABlockKeepsItsPoolAndGivesItselfBack) {
  auto pool = MemoryPool::create(device_, {.name = "step"}, upstream_);
  EXPECT_EQ(pool->name(), "step");
  EXPECT_EQ(&pool->device(), device_.get());
  PoolBlock block = pool->allocate(1000, "scratch");
  EXPECT_EQ(block.bytes(), 1024u);
  EXPECT_EQ(block.view().data, block.data());
  EXPECT_EQ(block.view().bytes, 1024u);
  const std::weak_ptr<MemoryPool> watch = pool;
  pool.reset();
  ASSERT_FALSE(watch.expired());
  std::memset(block.data(), 1, block.bytes());
  EXPECT_EQ(upstream_->allocations().current, 1u);
  block = PoolBlock();
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(upstream_->allocations().current, 0u);
}

TEST_F(MemoryPoolTest, BlocksMove) {
  const auto pool = MemoryPool::create(device_, {}, upstream_);
  PoolBlock first = pool->allocate(100, "first");
  PoolBlock second = pool->allocate(100, "second");
  void* const data = first.data();
  second = std::move(first);
  EXPECT_FALSE(first);
  EXPECT_EQ(first.bytes(), 0u);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(pool->statistics().allocation.current, 1u);
  PoolBlock& same = second;
  second = std::move(same);
  EXPECT_EQ(second.data(), data);
  const PoolBlock third(std::move(second));
  EXPECT_TRUE(third);
  EXPECT_EQ(pool->statistics().allocation.current, 1u);
}

TEST_F(MemoryPoolTest, ALaterBlockAtTheSameAddressHasAnotherGeneration) {
  const auto pool = MemoryPool::create(device_, {});
  PoolBlock block = pool->allocate(100, "first");
  void* const data = block.data();
  const auto generation = block.generation();
  EXPECT_NE(generation, 0u);
  block = PoolBlock();
  block = pool->allocate(100, "second");
  EXPECT_EQ(block.data(), data);
  EXPECT_NE(block.generation(), generation);
  EXPECT_NE(block.generation(), device_->allocate(10, "buffer").generation());
}

TEST_F(MemoryPoolTest, TakesItsSegmentsFromTheDeviceAndGivesThemBack) {
  const auto free_before = device_->memory_info().free;
  {
    const auto pool = MemoryPool::create(device_, {.segment_bytes = kMiB});
    const PoolBlock block = pool->allocate(100, "small");
    EXPECT_LE(device_->memory_info().free, free_before - kMiB);
    std::memset(block.data(), 1, block.bytes());
  }
  EXPECT_EQ(device_->memory_info().free, free_before);
}

TEST_F(MemoryPoolTest, TellsWhatTheDeviceHasWhenThatIsNotEnough) {
  const auto pool = MemoryPool::create(device_, {.name = "step"});
  const PoolBlock held = pool->allocate(40 * kMiB, "held");
  try {
    pool->allocate(30 * kMiB, "logits");
    FAIL() << "nothing was thrown";
  } catch (const OutOfMemory& error) {
    const std::string message = error.what();
    for (const char* part :
         {"pool 'step' has no room for 31457280 bytes (30.0 MiB) for 'logits'",
          "reserved 40.0 MiB, allocated 40.0 MiB", "limit none", "host:0 has 24.0 MiB free"}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
    }
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  EXPECT_TRUE(pool->allocate(20 * kMiB, "smaller"));
}

/// A step that needs scratch for a moment; the addresses that it used.
std::vector<void*> enqueue_step(MemoryPool& pool, Stream& stream) {
  std::vector<void*> used;
  const PoolBlock output = pool.allocate(5000, "output");
  for (const std::size_t bytes : {300'000u, 70'000u, 300'000u}) {
    const PoolBlock scratch = pool.allocate(bytes, "scratch");
    stream.fill(scratch.view(), 7);
    used.push_back(scratch.data());
  }
  stream.copy({output.data(), 5000, MemorySpace::device}, {used[0], 5000, MemorySpace::device});
  used.push_back(output.data());
  return used;
}

TEST_F(MemoryPoolTest, AWarmUpMakesRoomForARecordingAtTheSameAddresses) {
  const auto pool = MemoryPool::create(device_, {.segment_bytes = 4096}, upstream_);
  Stream stream = device_->create_stream("main");
  enqueue_step(*pool, stream);
  const auto eager = enqueue_step(*pool, stream);
  stream.synchronize();
  const auto segments = upstream_->allocations().allocated;
  std::vector<void*> recorded;
  const Graph graph = capture(stream, [&] { recorded = enqueue_step(*pool, stream); });
  EXPECT_EQ(recorded, eager);
  EXPECT_EQ(upstream_->allocations().allocated, segments);

  // The graph replays in memory whose blocks were given back; a trim must leave it alone.
  pool->trim();
  std::memset(recorded.back(), 0, 5000);
  GraphExec executable = graph.instantiate();
  executable.launch(stream);
  stream.synchronize();
  EXPECT_EQ(static_cast<unsigned char*>(recorded.back())[4999], 7);
}

TEST_F(MemoryPoolTest, GrowingInARecordingIsRefusedAndSpoilsIt) {
  const auto pool = MemoryPool::create(device_, {.name = "step"}, upstream_);
  Stream stream = device_->create_stream("main");
  const Buffer buffer = device_->allocate(64, "buffer");
  std::string message;
  const auto swallowing = [&] {
    stream.fill(buffer.view(), 1);
    try {
      pool->allocate(3 * kMiB, "logits");
    } catch (const CaptureError& error) {
      EXPECT_EQ(error.fault(), CaptureFault::refused);
      message = error.what();
    }
  };
  EXPECT_THROW(capture(stream, swallowing), CaptureError);
  EXPECT_NE(message.find("pool 'step' must grow by 3.0 MiB for 'logits' inside recording "),
            std::string::npos)
      << message;
  EXPECT_NE(message.find(" on stream 'main'; run the step once"), std::string::npos) << message;
  EXPECT_THROW(capture(stream, [&] { pool->reserve(3 * kMiB); }), CaptureError);
  EXPECT_EQ(upstream_->allocations().allocated, 0u);

  pool->reserve(3 * kMiB);
  const Graph graph = capture(stream, swallowing);
  EXPECT_EQ(graph.node_count(), 1u);
}

TEST_F(MemoryPoolTest, AnotherThreadMayGrowThePoolWhileThisOneRecords) {
  const auto pool = MemoryPool::create(device_, {.name = "step"});
  Stream stream = device_->create_stream("main");
  const Buffer buffer = device_->allocate(64, "buffer");
  const Graph graph = capture(stream, [&] {
    stream.fill(buffer.view(), 1);
    std::thread([&] { EXPECT_NO_THROW(pool->allocate(kMiB, "other")); }).join();
  });
  EXPECT_EQ(graph.node_count(), 1u);
}

TEST_F(MemoryPoolTest, ThreadsShareItsBookkeeping) {
  const auto pool = MemoryPool::create(device_, {.segment_bytes = 16384}, upstream_);
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<PoolBlock> held;
    for (int step = 0; step < 2000; ++step) {
      if (random() % 2 == 0 || held.empty()) {
        held.push_back(pool->allocate(random() % 6000, "thread"));
        std::memset(held.back().data(), static_cast<int>(seed), held.back().bytes());
      } else {
        std::swap(held[random() % held.size()], held.back());
        const auto* bytes = static_cast<const unsigned char*>(held.back().data());
        ASSERT_EQ(bytes[held.back().bytes() - 1], seed);
        held.pop_back();
      }
      if (step % 100 == 0) pool->trim();
      if (step % 50 == 0) {
        const MemoryStatistics now = pool->statistics();
        ASSERT_GE(now.reserved_bytes.current, now.allocated_bytes.current);
        pool->snapshot();
      }
    }
  };
  std::thread first(work, 1u);
  std::thread second(work, 2u);
  first.join();
  second.join();
  EXPECT_EQ(pool->statistics().allocation.current, 0u);
  pool->trim();
  EXPECT_EQ(upstream_->bytes().current, 0u);
}

TEST_F(MemoryPoolTest, AnExpandableOneGrowsInOnePieceOnTheDevice) {
  const std::size_t free_before = device_->memory_info().free;
  {
    const auto pool = MemoryPool::create(device_, {.name = "step", .expandable = true});
    std::vector<PoolBlock> blocks;
    for (int i = 0; i < 4; ++i) {
      blocks.push_back(pool->allocate(3 * kMiB, "block"));
      std::memset(blocks.back().data(), i, blocks.back().bytes());
    }
    EXPECT_EQ(pool->statistics().segment.current, 1u);
    EXPECT_EQ(pool->statistics().reserved_bytes.current, 12 * kMiB);
    EXPECT_EQ(device_->memory_info().free, free_before - 12 * kMiB);
    EXPECT_EQ(static_cast<std::byte*>(blocks[3].data()) - static_cast<std::byte*>(blocks[0].data()),
              static_cast<std::ptrdiff_t>(9 * kMiB));
    EXPECT_FALSE(pool->asleep());
    EXPECT_THROW((void)pool->allocate(60 * kMiB, "too much"), OutOfMemory);
    blocks.clear();
    EXPECT_EQ(pool->trim(), 12 * kMiB);
    EXPECT_EQ(device_->memory_info().free, free_before);
    const PoolBlock again = pool->allocate(1, "again");
    EXPECT_EQ(pool->statistics().num_device_free, 1u);
  }
  EXPECT_EQ(device_->memory_info().free, free_before);
  EXPECT_THROW(MemoryPool::create(device_, {.name = "step", .expandable = true}, upstream_),
               UsageError);
}

}  // namespace
}  // namespace reprise
