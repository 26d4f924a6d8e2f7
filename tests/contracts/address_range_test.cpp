// SPDX-License-Identifier: Apache-2.0
// Addresses that stay while memory comes and goes behind them (DESIGN §6).
#include <algorithm>
#include <thread>
#include <utility>

#include "contracts/address_range_fixture.h"

namespace reprise::contract {
namespace {

class AddressRanges : public AddressRangeTest {};

TEST_F(AddressRanges, AreReservedWithoutMemory) {
  const std::size_t free_before = free_bytes();
  const AddressRange range = reserve(8);
  EXPECT_TRUE(range);
  ASSERT_GT(granule_, 0u);
  EXPECT_EQ(granule_ & (granule_ - 1), 0u);
  EXPECT_EQ(range.bytes(), 8 * granule_);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(range.data()) % granule_, 0u);
  EXPECT_EQ(range.label(), "kv");
  EXPECT_GT(range.generation(), 0u);
  EXPECT_EQ(range.mapped_bytes(), 0u);
  EXPECT_FALSE(range.is_mapped(0, 1));
  EXPECT_LT(free_before, free_bytes() + range.bytes());
}

TEST_F(AddressRanges, SizesAreRoundedUpToTheGranularity) {
  EXPECT_EQ(device_->reserve(1, "kv").bytes(), granule_);
  EXPECT_EQ(device_->reserve(granule_ + 1, "kv").bytes(), 2 * granule_);
}

TEST_F(AddressRanges, MoreThanTheDevicesMemoryMayBeReserved) {
  const AddressRange range =
      device_->reserve(device_->memory_info().total + granule_, "the whole device and more");
  EXPECT_GT(range.bytes(), device_->memory_info().total);
}

TEST_F(AddressRanges, TooMuchIsRefusedInWords) {
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX / 2}) {
    try {
      (void)device_->reserve(bytes, "kv");
      ADD_FAILURE() << bytes;
    } catch (const DeviceError& error) {
      expect_parts(error.what(), {"address range 'kv'", "reserve less"});
    }
  }
  EXPECT_FALSE(device_->lost());
}

TEST_F(AddressRanges, WhatIsMappedCanBeWrittenAndReadToItsLastByte) {
  AddressRange range = reserve(4);
  map(range, 1, 2);
  EXPECT_EQ(range.mapped_bytes(), 2 * granule_);
  write(range, 1, 5);
  EXPECT_EQ(read(range, 1), 5);
  main_.fill(range.view(granule_, 2 * granule_), 0);
  kit_->add(main_, at(range, 1), 2 * granule_ / sizeof(float), 3);
  std::vector<float> last(1);
  main_.copy(pageable(std::span(last)), range.view(3 * granule_ - sizeof(float), sizeof(float)));
  EXPECT_EQ(last[0], 3);
  EXPECT_EQ(read(range, 2), 3);
}

TEST_F(AddressRanges, TellWhichPartsHaveMemory) {
  AddressRange range = reserve(6);
  map(range, 1, 1);
  map(range, 2, 2);
  EXPECT_TRUE(range.is_mapped(granule_, 3 * granule_));  // two mappings without a gap
  EXPECT_TRUE(range.is_mapped(granule_ + 5, granule_));
  EXPECT_FALSE(range.is_mapped(granule_ - 1, 2));
  EXPECT_FALSE(range.is_mapped(3 * granule_, granule_ + 1));
  EXPECT_FALSE(range.is_mapped(0, 6 * granule_));
  EXPECT_FALSE(range.is_mapped(0, SIZE_MAX));
  EXPECT_FALSE(range.is_mapped(SIZE_MAX, 2));
  EXPECT_TRUE(range.is_mapped(0, 0));
  EXPECT_EQ(range.view(granule_, 3 * granule_).data, at(range, 1));
  EXPECT_EQ(range.view(0, 0).bytes, 0u);
  expect_parts(usage_error_of([&] { (void)range.view(3 * granule_, 2 * granule_); }),
               {"address range 'kv' (" + device_->label() + ")", "not mapped",
                std::to_string(4 * granule_)});
  expect_parts(usage_error_of([&] { (void)range.view(5 * granule_, 2 * granule_); }),
               {"address range 'kv'", "not lie inside", std::to_string(6 * granule_)});
}

TEST_F(AddressRanges, MemoryIsTakenAndGivenBack) {
  constexpr std::size_t kMost = std::size_t{32} << 20;
  const std::size_t count = std::max<std::size_t>(kMost / granule_, 1);
  AddressRange range = reserve(count);
  map_once(range);
  const std::size_t free_before = free_bytes();
  map(range, 0, count);
  const std::size_t free_with = free_bytes();
  EXPECT_LE(free_with + count * granule_, free_before);
  unmap(range, 0, count);
  EXPECT_EQ(range.mapped_bytes(), 0u);
  EXPECT_EQ(free_bytes(), free_before);
  map(range, 0, count);
  range = {};
  EXPECT_GE(free_bytes(), free_before);
}

TEST_F(AddressRanges, TwoDoNotShareMemory) {
  AddressRange first = reserve(2, "first");
  AddressRange second = reserve(2, "second");
  EXPECT_NE(first.generation(), second.generation());
  map(first, 0, 2);
  map(second, 0, 2);
  for (const std::size_t granule : {0, 1}) {
    write(first, granule, 1);
    write(second, granule, 2);
  }
  unmap(second, 0, 2);
  EXPECT_EQ(read(first, 0), 1);
  EXPECT_EQ(read(first, 1), 1);
}

TEST_F(AddressRanges, KeepTheirAddressesOverUnmapAndMap) {
  AddressRange range = reserve(3);
  void* const data = range.data();
  const std::uint64_t generation = range.generation();
  map(range, 0, 1);
  map(range, 1, 2);
  write(range, 0, 7);
  for (int round = 0; round < 3; ++round) {
    unmap(range, 1, 2);
    EXPECT_EQ(range.mapped_bytes(), granule_);
    map(range, 1, 2);
    write(range, 1, static_cast<float>(round));
    EXPECT_EQ(read(range, 1), static_cast<float>(round));
  }
  EXPECT_EQ(read(range, 0), 7);  // what stayed mapped kept its contents
  EXPECT_EQ(range.data(), data);
  EXPECT_EQ(range.generation(), generation);
}

TEST_F(AddressRanges, GiveBackOneOrMoreWholeMappings) {
  AddressRange range = reserve(8);
  map(range, 0, 1);
  map(range, 1, 3);
  map(range, 4, 2);
  map(range, 7, 1);
  const auto refused = [&](std::size_t first, std::size_t count, std::size_t begin,
                           std::size_t end) {
    const std::string text = usage_error_of([&] { unmap(range, first, count); });
    expect_parts(text, {"AddressRange::unmap", "address range 'kv'",
                        "[" + std::to_string(begin * granule_) + ", " +
                            std::to_string(end * granule_) + ")"});
    EXPECT_EQ(range.mapped_bytes(), 7 * granule_);
    return text;
  };
  expect_parts(refused(1, 1, 1, 4), {"would cut", "back whole"});
  refused(0, 2, 1, 4);
  refused(3, 3, 1, 4);
  refused(2, 1, 1, 4);
  expect_parts(refused(4, 4, 6, 7), {"not mapped"});
  refused(6, 1, 6, 7);
  unmap(range, 1, 5);  // two of them
  EXPECT_EQ(range.mapped_bytes(), 2 * granule_);
  expect_parts(usage_error_of([&] { unmap(range, 1, 5); }), {"not mapped"});
  map(range, 2, 1);
  EXPECT_TRUE(range.is_mapped(2 * granule_, granule_));
}

TEST_F(AddressRanges, MappingIsRefusedWhereItCannotBe) {
  AddressRange range = reserve(4);
  map(range, 1, 2);
  write(range, 1, 5);
  const std::string granularity = "granularity, " + std::to_string(granule_) + " bytes";
  for (const auto& [offset, bytes] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, granule_}, {0, granule_ - 1}, {granule_ / 2, granule_ / 2}}) {
    expect_parts(usage_error_of([&] { range.map(offset, bytes); }),
                 {"AddressRange::map", "address range 'kv'", granularity});
    expect_parts(usage_error_of([&] { range.unmap(offset, bytes); }), {granularity});
  }
  for (const auto& [offset, bytes] : std::vector<std::pair<std::size_t, std::size_t>>{
           {3 * granule_, 2 * granule_}, {5 * granule_, granule_}, {granule_, SIZE_MAX}}) {
    expect_parts(usage_error_of([&] { range.map(offset, bytes); }), {"not lie inside"});
    expect_parts(usage_error_of([&] { range.unmap(offset, bytes); }), {"not lie inside"});
  }
  for (const auto& [first, count] :
       std::vector<std::pair<std::size_t, std::size_t>>{{0, 2}, {1, 2}, {2, 1}, {2, 2}, {0, 4}}) {
    expect_parts(usage_error_of([&, offset = first * granule_, bytes = count * granule_] {
                   range.map(offset, bytes);
                 }),
                 {"mapped already",
                  "[" + std::to_string(granule_) + ", " + std::to_string(3 * granule_) + ")"});
  }
  EXPECT_EQ(range.mapped_bytes(), 2 * granule_);
  EXPECT_EQ(read(range, 1), 5);
}

TEST_F(AddressRanges, ZeroBytesAreAllowed) {
  AddressRange empty = device_->reserve(0, "empty");
  EXPECT_TRUE(empty);
  EXPECT_EQ(empty.bytes(), 0u);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(empty.granularity(), granule_);
  empty.map(0, 0);
  empty.unmap(0, 0);
  EXPECT_EQ(empty.view(0, 0).bytes, 0u);
  EXPECT_THROW(empty.map(0, granule_), UsageError);
  AddressRange range = reserve(2);
  range.map(0, 0);
  range.map(granule_ / 2, 0);
  range.unmap(2 * granule_, 0);
  EXPECT_EQ(range.mapped_bytes(), 0u);
}

TEST_F(AddressRanges, WhatWasMovedFromIsEmpty) {
  AddressRange range = reserve(2);
  map(range, 0, 1);
  AddressRange other = std::move(range);
  EXPECT_FALSE(range);
  EXPECT_EQ(range.data(), nullptr);
  EXPECT_EQ(range.bytes(), 0u);
  EXPECT_EQ(range.mapped_bytes(), 0u);
  EXPECT_THROW(range.map(0, granule_), UsageError);
  EXPECT_THROW(range.unmap(0, granule_), UsageError);
  EXPECT_THROW((void)range.view(0, 0), UsageError);
  EXPECT_EQ(other.mapped_bytes(), granule_);
  write(other, 0, 1);
  EXPECT_EQ(read(other, 0), 1);
}

TEST_F(AddressRanges, RunningOutOfMemoryChangesNothing) {
  const std::size_t total = device_->memory_info().total;
  AddressRange range = device_->reserve(total + 2 * granule_, "kv");
  map(range, 0, 1);
  write(range, 0, 5);
  const std::size_t free_before = free_bytes();
  const std::size_t wanted = range.bytes() - granule_;
  try {
    range.map(granule_, wanted);
    FAIL() << "nothing was thrown";
  } catch (const OutOfMemory& error) {
    expect_parts(error.what(), {"address range 'kv'", std::to_string(wanted) + " bytes",
                                "of " + std::to_string(total) + " are free"});
  }
  EXPECT_EQ(range.mapped_bytes(), granule_);
  EXPECT_EQ(free_bytes(), free_before);
  EXPECT_EQ(read(range, 0), 5);
  map(range, 1, 1);  // the addresses are as usable as before
  write(range, 1, 6);
  EXPECT_EQ(read(range, 1), 6);
}

TEST_F(AddressRanges, KeepTheirDevice) {
  AddressRange range;
  {
    const auto device = kit_->open();
    range = device->reserve(granule_, "kv");
  }
  map(range, 0, 1);
  EXPECT_EQ(range.mapped_bytes(), granule_);
}

TEST_F(AddressRanges, MayBeAskedAndMappedFromSeveralThreads) {
  constexpr std::size_t kThreads = 4;
  AddressRange range = reserve(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t own = 0; own < kThreads; ++own) {
    threads.emplace_back([&, own] {
      for (int round = 0; round < 20; ++round) {
        map(range, own, 1);
        EXPECT_TRUE(range.is_mapped(own * granule_, granule_));
        EXPECT_GE(range.mapped_bytes(), granule_);
        EXPECT_NO_THROW((void)range.view(own * granule_, granule_));
        unmap(range, own, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(range.mapped_bytes(), 0u);
}

}  // namespace
}  // namespace reprise::contract
