// SPDX-License-Identifier: Apache-2.0
// What people and tools read about a pool.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <reprise/host.h>
#include <reprise/memory_pool.h>

#include "diag/json.h"
#include "memory/support/host_upstream.h"

namespace reprise {
namespace {

class MemoryReport : public ::testing::Test {
 protected:
  std::shared_ptr<MemoryPool> make_pool(std::string name) {
    return MemoryPool::create(device_, {.name = std::move(name), .segment_bytes = 65536},
                              std::make_shared<testing::HostUpstream>());
  }
  const std::shared_ptr<Device> device_ = host::open({.threads = 1});
};

TEST_F(MemoryReport, SummaryOfASmallPool) {
  const auto pool = make_pool("step");
  PoolBlock gone = pool->allocate(1000, "gone");
  const PoolBlock held = pool->allocate(3000, "held");
  gone = PoolBlock();
  EXPECT_EQ(memory_summary(*pool),
            "|===========================================================================|\n"
            "|                       Memory pool 'step' on host:0                        |\n"
            "|               OOMs: 0   Retries: 0   Fragmentation: 93.8 %                |\n"
            "|===========================================================================|\n"
            "| Metric                |  Cur Usage | Peak Usage |  Tot Alloc |  Tot Freed |\n"
            "|---------------------------------------------------------------------------|\n"
            "| Allocated memory      |    3.0 KiB |    4.0 KiB |    4.0 KiB |    1.0 KiB |\n"
            "| Requested memory      |    2.9 KiB |    3.9 KiB |    3.9 KiB |     1000 B |\n"
            "| Reserved memory       |   64.0 KiB |   64.0 KiB |   64.0 KiB |        0 B |\n"
            "| Non-releasable memory |   61.0 KiB |   63.0 KiB |   64.0 KiB |    3.0 KiB |\n"
            "|---------------------------------------------------------------------------|\n"
            "| Allocations           |          1 |          2 |          2 |          1 |\n"
            "| Reserved segments     |          1 |          1 |          1 |          0 |\n"
            "| Non-releasable allocs |          2 |          2 |          2 |          0 |\n"
            "|===========================================================================|\n");
}

TEST_F(MemoryReport, SummaryKeepsItsWidth) {
  const auto pool = make_pool(std::string(36, 'x') + "ééééééééé");
  const std::string text = memory_summary(*pool);
  const auto name = text.find(std::string(36, 'x') + "...'");
  ASSERT_NE(name, std::string::npos) << text;
  for (std::size_t start = 0; start < text.size();) {
    const auto end = text.find('\n', start);
    EXPECT_EQ(end - start, 77u);
    start = end + 1;
  }
}

TEST_F(MemoryReport, JsonHoldsStatisticsAndBlocks) {
  const auto pool = make_pool("st\"ep");
  PoolBlock gone = pool->allocate(1000, "gone");
  const PoolBlock held = pool->allocate(3000, "layer 0 / qkv");
  gone = PoolBlock();
  const auto json = nlohmann::json::parse(memory_json(*pool));
  EXPECT_EQ(json["pool"], "st\"ep");
  EXPECT_EQ(json["device"], "host:0");
  EXPECT_EQ(json["statistics"]["allocated_bytes"]["current"], 3072);
  EXPECT_EQ(json["statistics"]["allocated_bytes"]["peak"], 4096);
  EXPECT_EQ(json["statistics"]["requested_bytes"]["freed"], 1000);
  EXPECT_EQ(json["statistics"]["inactive_split"]["current"], 2);
  EXPECT_EQ(json["statistics"]["num_ooms"], 0);
  EXPECT_DOUBLE_EQ(json["statistics"]["fragmentation"], 0.9375);
  ASSERT_EQ(json["segments"].size(), 1u);
  const auto& segment = json["segments"][0];
  EXPECT_EQ(segment["bytes"], 65536);
  const auto address = reinterpret_cast<std::uintptr_t>(held.data()) - 1024;
  EXPECT_EQ(std::stoull(segment["address"].get<std::string>(), nullptr, 16), address);
  ASSERT_EQ(segment["blocks"].size(), 3u);
  EXPECT_EQ(segment["blocks"][0]["state"], "free");
  EXPECT_EQ(segment["blocks"][1]["state"], "allocated");
  EXPECT_EQ(segment["blocks"][1]["label"], "layer 0 / qkv");
  EXPECT_EQ(segment["blocks"][1]["offset"], 1024);
  EXPECT_EQ(segment["blocks"][1]["requested_bytes"], 3000);
}

TEST_F(MemoryReport, JsonOfAnEmptyPoolAndOfLabelsThatAreNotText) {
  const auto pool = make_pool("step");
  EXPECT_TRUE(nlohmann::json::parse(memory_json(*pool))["segments"].empty());
  const PoolBlock block = pool->allocate(10, "\xff\xfe");
  EXPECT_NO_THROW(nlohmann::json::parse(memory_json(*pool)));
}

}  // namespace
}  // namespace reprise
