// SPDX-License-Identifier: Apache-2.0
// What people and tools read about a pool.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <reprise/error.h>
#include <reprise/host.h>
#include <reprise/memory_budget.h>
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
            "| Device calls          |            |            |          1 |          0 |\n"
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
  EXPECT_EQ(json["statistics"]["num_device_alloc"], 1);
  EXPECT_DOUBLE_EQ(json["statistics"]["fragmentation"], 0.9375);
  ASSERT_EQ(json["segments"].size(), 1u);
  const auto& segment = json["segments"][0];
  EXPECT_EQ(segment["bytes"], 65536);
  EXPECT_EQ(segment["recorded"], false);
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

TEST_F(MemoryReport, StatisticsUnderTheKeysOfPyTorch) {
  const auto pool = make_pool("step");
  PoolBlock gone = pool->allocate(1000, "gone");
  const PoolBlock held = pool->allocate(3000, "held");
  gone = PoolBlock();
  const auto json = nlohmann::json::parse(memory_stats_json(*pool));
  EXPECT_EQ(json["allocation.all.current"], 1);
  EXPECT_EQ(json["allocated_bytes.all.current"], 3072);
  EXPECT_EQ(json["allocated_bytes.all.peak"], 4096);
  EXPECT_EQ(json["allocated_bytes.all.freed"], 1024);
  EXPECT_EQ(json["active_bytes.all.current"], json["allocated_bytes.all.current"]);
  EXPECT_EQ(json["active.all.peak"], json["allocation.all.peak"]);
  EXPECT_EQ(json["requested_bytes.all.allocated"], 4000);
  EXPECT_EQ(json["reserved_bytes.all.current"], 65536);
  EXPECT_EQ(json["segment.all.allocated"], 1);
  EXPECT_EQ(json["inactive_split.all.current"], 2);
  EXPECT_EQ(json["inactive_split_bytes.all.current"], 65536 - 3072);
  EXPECT_EQ(json["num_alloc_retries"], 0);
  EXPECT_EQ(json["num_ooms"], 0);
  EXPECT_EQ(json["num_device_alloc"], 1);
  EXPECT_EQ(json["num_device_free"], 0);
  EXPECT_DOUBLE_EQ(json["fragmentation"], 0.9375);
  EXPECT_EQ(json.size(), 9u * 4 + 5);
}

TEST(MemoryBudget, AddsUpToWhatTheDeviceReports) {
  const MemoryInfo now{.free = 300, .total = 1000};
  const MemoryUse use{.weights = 400, .pool = 50, .workspaces = 20, .executables = 30, .kv = 100};
  const MemoryBudget budget = make_budget(now, use, 250);
  EXPECT_EQ(budget.context_and_modules, 100u);
  EXPECT_EQ(budget.margin, 250u);
  EXPECT_EQ(budget.free, 50u);
  const auto json = nlohmann::json::parse(budget_json(budget));
  std::size_t sum = 0;
  for (const auto& [key, bytes] : json.items())
    sum += key == "total" ? 0 : bytes.get<std::size_t>();
  EXPECT_EQ(sum, 1000u);
  EXPECT_EQ(json["total"], 1000);
  EXPECT_EQ(json["kv"], 100);
  EXPECT_EQ(budget_table(budget),
            "context and modules      100 B   10.00 %\n"
            "weights                  400 B   40.00 %\n"
            "pool                      50 B    5.00 %\n"
            "workspaces                20 B    2.00 %\n"
            "executables               30 B    3.00 %\n"
            "KV                       100 B   10.00 %\n"
            "margin                   250 B   25.00 %\n"
            "free                      50 B    5.00 %\n"
            "----------------------------------------\n"
            "total                   1000 B  100.00 %\n");
  EXPECT_EQ(make_budget(now, use, 400).free, 0u);
  EXPECT_EQ(make_budget(now, use, 400).margin, 300u);
  EXPECT_THROW(make_budget(now, {.weights = 701}, 0), UsageError);
}

TEST(MemoryBudget, WhatIsLeftIsCountedInWholePieces) {
  EXPECT_EQ(mappable_bytes({.free = 1000, .total = 2000}, 100, 256), 768u);
  EXPECT_EQ(mappable_bytes({.free = 100, .total = 2000}, 100, 256), 0u);
  EXPECT_EQ(mappable_bytes({.free = 99, .total = 2000}, 100, 256), 0u);
}

}  // namespace
}  // namespace reprise
