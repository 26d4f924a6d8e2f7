// SPDX-License-Identifier: Apache-2.0
// Address ranges where the device fails midway, and what only the host can show. What every device
// must do stands in tests/contracts/.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/address_range.h>
#include <reprise/error.h>
#include <reprise/host.h>

#include "device/backend.h"
#include "device/host/address_space.h"
#include "device/host/memory.h"
#include "device/mapping_table.h"

namespace reprise {
namespace {

constexpr std::size_t kGranule = host::kMappingGranularity;

/// Has addresses only, and fails the nth call of map() and unmap().
class FailingDevice final : public DeviceState {
 public:
  struct Plan {
    int fail_map = 0;
    int fail_unmap = 0;
    bool busy = false;  ///< has work that cannot be waited for
  };
  explicit FailingDevice(Plan& plan) : plan_(plan) {}

  MemoryInfo memory_info() const override { return {}; }
  void* allocate(std::size_t, MemorySpace) override { return nullptr; }
  void free(void*, std::size_t, MemorySpace) noexcept override {}
  std::size_t mapping_granularity() override { return 16; }
  void* reserve_addresses(std::size_t bytes) override {
    if (bytes > 1024) throw DeviceError("no addresses");
    return bytes_.data();
  }
  void release_addresses(void*, std::size_t, const MappingTable&) noexcept override {}
  void map(void*, std::size_t) override {
    if (--plan_.fail_map == 0) throw OutOfMemory("no memory", 2);
  }
  void unmap(void*, std::size_t) override {
    if (--plan_.fail_unmap == 0) throw DeviceError("stuck", 1);
  }
  bool wait_for_work() noexcept override { return !plan_.busy; }
  std::shared_ptr<StreamState> create_stream(std::string) override { return nullptr; }
  std::shared_ptr<StreamState> create_default_stream() override { return nullptr; }
  std::unique_ptr<EventState> create_event() override { return nullptr; }

 private:
  Plan& plan_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(1024);
};

class AddressRangeFaults : public ::testing::Test {
 protected:
  FailingDevice::Plan plan_;
  std::shared_ptr<Device> device_ =
      std::make_shared<Device>(std::make_unique<FailingDevice>(plan_));
  AddressRange range_ = device_->reserve(128, "kv");
};

TEST_F(AddressRangeFaults, AFailedMapLeavesWhatWasThere) {
  for (int nth = 1; nth <= 3; ++nth) {
    plan_.fail_map = nth;
    std::size_t mapped = 0;
    int failures = 0;
    for (std::size_t offset = 0; offset < 64; offset += 16) {
      try {
        range_.map(offset, 16);
        mapped += 16;
      } catch (const OutOfMemory& error) {
        ++failures;
        EXPECT_EQ(std::string(error.what()), "address range 'kv': no memory");
        EXPECT_EQ(error.code(), 2);
        EXPECT_FALSE(range_.is_mapped(offset, 1));
        EXPECT_EQ(range_.mapped_bytes(), mapped);
        range_.map(offset, 16);
        mapped += 16;
      }
    }
    EXPECT_EQ(failures, 1);
    range_.unmap(0, 64);
    EXPECT_EQ(range_.mapped_bytes(), 0u);
  }
}

TEST_F(AddressRangeFaults, AFailedUnmapLeavesTheRestMapped) {
  for (std::size_t offset = 0; offset < 64; offset += 16) range_.map(offset, 16);
  plan_.fail_unmap = 3;
  EXPECT_THROW(range_.unmap(0, 64), DeviceError);
  EXPECT_FALSE(range_.is_mapped(0, 1));
  EXPECT_FALSE(range_.is_mapped(16, 1));
  EXPECT_TRUE(range_.is_mapped(32, 32));
  EXPECT_EQ(range_.mapped_bytes(), 32u);
  range_.unmap(32, 32);
  EXPECT_EQ(range_.mapped_bytes(), 0u);
}

TEST_F(AddressRangeFaults, WhatMayBeInUseStaysMapped) {
  range_.map(0, 32);
  plan_.busy = true;
  try {
    range_.unmap(0, 32);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("nothing was unmapped"), std::string::npos);
  }
  EXPECT_TRUE(range_.is_mapped(0, 32));
  plan_.busy = false;
  range_.unmap(0, 32);
  EXPECT_EQ(range_.mapped_bytes(), 0u);
}

TEST_F(AddressRangeFaults, AFailedReservationNamesTheRange) {
  try {
    (void)device_->reserve(2048, "kv");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_EQ(std::string(error.what()), "address range 'kv': no addresses");
  }
}

TEST(HostAddressRange, CountsAgainstTheDevicesLimit) {
  const auto device = host::open({.threads = 1, .memory_limit = 4 * kGranule});
  AddressRange range = device->reserve(64 * kGranule, "kv");
  EXPECT_EQ(device->memory_info().free, 4 * kGranule);
  range.map(0, 3 * kGranule);
  EXPECT_EQ(device->memory_info().free, kGranule);
  EXPECT_THROW(device->allocate(2 * kGranule, "x"), OutOfMemory);
  EXPECT_THROW(range.map(3 * kGranule, 2 * kGranule), OutOfMemory);
  EXPECT_EQ(device->memory_info().free, kGranule);
  range.unmap(0, 3 * kGranule);
  EXPECT_EQ(device->memory_info().free, 4 * kGranule);
  range.map(8 * kGranule, kGranule);
  range = {};
  EXPECT_EQ(device->memory_info().free, 4 * kGranule);
}

TEST(HostAddressRange, FreshMemoryIsPoisonedEveryTime) {
  const auto device = host::open({.threads = 1});
  AddressRange range = device->reserve(kGranule, "kv");
  for (int round = 0; round < 2; ++round) {
    range.map(0, kGranule);
    auto* const bytes = static_cast<unsigned char*>(range.data());
    for (std::size_t i = 0; i < kGranule; ++i) ASSERT_EQ(bytes[i], host::kPoison);
    bytes[5] = 1;
    range.unmap(0, kGranule);
  }
}

TEST(HostAddressRangeDeathTest, TouchingWhatIsNotMappedFaults) {
  const auto device = host::open({.threads = 1});
  AddressRange range = device->reserve(3 * kGranule, "kv");
  range.map(0, 2 * kGranule);
  auto* const bytes = static_cast<volatile char*>(range.data());
  bytes[2 * kGranule - 1] = 1;
  EXPECT_DEATH(bytes[2 * kGranule] = 1, "");  // never mapped
  EXPECT_DEATH((void)bytes[3 * kGranule - 1], "");
  range.unmap(0, 2 * kGranule);
  EXPECT_DEATH((void)bytes[0], "");  // no longer mapped
  EXPECT_DEATH(bytes[kGranule] = 1, "");
}

}  // namespace
}  // namespace reprise
