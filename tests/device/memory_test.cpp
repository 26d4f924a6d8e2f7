// SPDX-License-Identifier: Apache-2.0
#include "device/host/memory.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/error.h>
#include <reprise/host.h>

namespace reprise {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(HostMemory, IsAlignedPoisonedAndCounted) {
  const auto device = host::open({.threads = 1, .memory_limit = 4 * kMiB});
  EXPECT_EQ(device->memory_info().total, 4 * kMiB);
  EXPECT_EQ(device->properties().total_memory, 4 * kMiB);
  {
    const Buffer buffer = device->allocate(1000, "x");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0u);
    EXPECT_EQ(buffer.bytes(), 1000u);
    for (std::size_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(static_cast<unsigned char*>(buffer.data())[i], host::kPoison);
    }
    EXPECT_EQ(device->memory_info().free, 4 * kMiB - 1024);
  }
  EXPECT_EQ(device->memory_info().free, 4 * kMiB);
}

TEST(HostMemory, SizesAreRoundedUpToTheAlignment) {
  const auto device = host::open({.threads = 1, .memory_limit = 4 * kMiB});
  for (const auto& [asked, taken] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 256}, {1, 256}, {255, 256}, {256, 256}, {257, 512}, {513, 768}}) {
    const Buffer buffer = device->allocate(asked, "x");
    EXPECT_EQ(device->memory_info().free, 4 * kMiB - taken) << asked;
  }
  EXPECT_NO_THROW(device->allocate(4 * kMiB, "all of it"));
  EXPECT_THROW(device->allocate(4 * kMiB + 1, "a byte more"), OutOfMemory);
}

TEST(HostMemory, BeyondTheLimitSaysWhatWasAskedAndWhatThereIs) {
  const auto device = host::open({.threads = 1, .memory_limit = 4 * kMiB});
  const Buffer first = device->allocate(3 * kMiB, "first");
  for (const std::size_t bytes : {2 * kMiB, 5 * kMiB, SIZE_MAX, SIZE_MAX - 100}) {
    try {
      device->allocate(bytes, "kv cache");
      ADD_FAILURE() << bytes;
    } catch (const OutOfMemory& error) {
      const std::string text = error.what();
      for (const std::string& part : {std::string("'kv cache'"), std::to_string(bytes),
                                      std::to_string(kMiB), std::to_string(4 * kMiB)}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
      }
    }
  }
  EXPECT_EQ(device->memory_info().free, kMiB);
  EXPECT_NO_THROW(device->allocate(kMiB, "fits"));
}

TEST(HostMemory, WithoutALimitTheMachineIsTheLimit) {
  const auto device = Device::open("host");
  EXPECT_THROW(device->allocate(std::size_t{1} << 50, "a petabyte"), OutOfMemory);
}

TEST(HostMemory, HugeAllocationsComeAndGo) {
  const auto device = host::open({.threads = 1});
  const Buffer huge = device->allocate(host::kHugeBytes + 5, "huge");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(huge.data()) % 256, 0u);
  static_cast<char*>(huge.data())[host::kHugeBytes + 4] = 1;
}

TEST(HostMemory, ZeroBytesAreAllowed) {
  const auto device = host::open({.threads = 1});
  Stream stream = device->create_stream("s");
  Buffer empty = device->allocate(0, "empty");
  EXPECT_TRUE(empty);
  EXPECT_EQ(empty.bytes(), 0u);
  empty.to_host(stream, {});
  stream.fill(empty.view(), 1);
}

TEST(Buffer, ViewsAndTensorsStayInside) {
  const auto device = host::open({.threads = 1});
  const Buffer buffer = device->allocate(64, "x");
  EXPECT_EQ(buffer.view(60, 4).bytes, 4u);
  EXPECT_EQ(buffer.view(64, 0).bytes, 0u);
  EXPECT_THROW(buffer.view(60, 5), UsageError);
  EXPECT_THROW(buffer.view(65, 0), UsageError);
  EXPECT_THROW(buffer.view(8, SIZE_MAX), UsageError);
  EXPECT_EQ(buffer.tensor(DType::f32, Shape{4, 4}).generation, buffer.generation());
  EXPECT_THROW(buffer.tensor(DType::f32, Shape{17}), UsageError);
}

TEST(Buffer, GenerationsAreUnique) {
  const auto device = host::open({.threads = 1});
  std::uint64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    const Buffer buffer = device->allocate(64, "x");
    EXPECT_GT(buffer.generation(), last);
    last = buffer.generation();
  }
}

TEST(Buffer, MovesAndEmptiness) {
  const auto device = host::open({.threads = 1});
  Stream stream = device->create_stream("s");
  Buffer a = device->allocate(64, "a");
  void* data = a.data();
  Buffer b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_FALSE(a);
  EXPECT_EQ(a.bytes(), 0u);
  std::vector<std::byte> bytes(4);
  EXPECT_THROW(a.to_host(stream, bytes), UsageError);
  EXPECT_THROW(a.from_host(stream, bytes), UsageError);
  std::vector<std::byte> many(65);
  EXPECT_THROW(b.to_host(stream, many), UsageError);
  EXPECT_THROW(b.from_host(stream, many), UsageError);
  b = device->allocate(32, "b");
  EXPECT_EQ(b.label(), "b");
}

TEST(Buffer, FreeingWaitsForWorkInFlight) {
  const auto device = host::open({.threads = 1});
  Stream stream = device->create_stream("s");
  Buffer target = device->allocate(64, "target");
  std::atomic<bool> done{false};
  {
    const Buffer passing = device->allocate(64, "passing");
    host::enqueue(stream, "slow", [&done, data = passing.data()] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::memset(data, 0, 64);
      done = true;
    });
  }
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace reprise
