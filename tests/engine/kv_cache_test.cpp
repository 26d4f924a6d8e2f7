// SPDX-License-Identifier: Apache-2.0
#include "engine/kv_cache.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/error.h>
#include <reprise/host.h>

namespace reprise {
namespace {

TEST(KvCache, CountsPagesWithTheSink) {
  EXPECT_EQ(KvCache::pages_for(1, 1), 2);
  EXPECT_EQ(KvCache::pages_for(3, 16), 4);
  EXPECT_EQ(KvCache::pages_for(3, 17), 7);
}

TEST(KvCache, RefusesMorePagesThanNumbers) {
  constexpr std::int64_t kLongest = std::int64_t{1} << 30;
  EXPECT_EQ(KvCache::pages_for(31, kLongest), 31 * (1 << 26) + 1);
  EXPECT_THROW(KvCache::pages_for(32, kLongest), OutOfMemory);
  EXPECT_THROW(KvCache::pages_for(std::numeric_limits<std::int32_t>::max(), kLongest), OutOfMemory);
}

TEST(KvCache, RefusesASizeBeyondSixtyFourBits) {
  ModelConfig config;
  config.layers = 4096;
  config.kv_heads = 1 << 15;
  config.head_dim = 1 << 15;
  const auto device = host::open({.threads = 1});
  // 2^4 entries of 2^32 bytes a page, 2^16 pages, 2^13 arrays: 2^65 bytes.
  EXPECT_THROW(KvCache(*device, config, DType::f32, 1 << 16), OutOfMemory);
}

TEST(KvCache, SaysHowMuchRoomIsMissing) {
  ModelConfig config;
  config.layers = 2;
  config.kv_heads = 2;
  config.head_dim = 64;
  const auto device = host::open({.threads = 1, .memory_limit = std::size_t{64} << 20});
  EXPECT_NO_THROW(KvCache::require_room(*device, config, DType::f32, 1, 32768));
  EXPECT_THROW(KvCache::require_room(*device, config, DType::f32, 1, 32769), OutOfMemory);
  EXPECT_THROW(KvCache::require_room(*device, config, DType::f32, 3, 16384), OutOfMemory);
}

TEST(KvCache, ASequenceThatFindsNoPageKeepsWhatItHad) {
  ModelConfig config;
  config.layers = 1;
  config.kv_heads = 1;
  config.head_dim = 4;
  const auto device = host::open({.threads = 1});
  KvCache cache(*device, config, DType::f32, 4);
  Sequence one(cache);
  one.reserve(20);
  EXPECT_EQ(one.pages(), (std::vector<std::int32_t>{1, 2}));
  Sequence other(cache);
  EXPECT_THROW(other.reserve(33), OutOfMemory);
  EXPECT_TRUE(other.pages().empty());
  other.reserve(1);
  EXPECT_EQ(other.pages(), std::vector<std::int32_t>{3});
  one = std::move(other);
  EXPECT_EQ(one.pages(), std::vector<std::int32_t>{3});
  EXPECT_EQ(cache.pages().available(), 2);
}

}  // namespace
}  // namespace reprise
