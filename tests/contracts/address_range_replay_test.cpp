// SPDX-License-Identifier: Apache-2.0
// Memory that comes and goes behind the addresses of live executables, work in flight and live
// recordings (DESIGN §6, S13, S14).
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "contracts/address_range_fixture.h"

namespace reprise::contract {
namespace {

class AddressRangeReplay : public AddressRangeTest {};

TEST_F(AddressRangeReplay, AGraphRecordedAgainstUnmappedAddressesReachesWhatIsMappedLater) {
  AddressRange range = reserve(4);
  map(range, 0, 1);
  write(range, 0, 0);
  set(index_, 0);
  GraphExec exec = adder(range, index_);
  exec.upload(main_);
  exec.launch(main_);
  EXPECT_EQ(read(range, 0), 1);
  map(range, 1, 3);
  for (std::uint32_t granule = 1; granule < 4; ++granule) {
    write(range, granule, 10.0F * static_cast<float>(granule));
    set(index_, granule);
    exec.launch(main_);
    EXPECT_EQ(read(range, granule), 10.0F * static_cast<float>(granule) + 1);
  }
  EXPECT_EQ(read(range, 0), 1);
}

TEST_F(AddressRangeReplay, AGraphMayBeRecordedAgainstNoMemoryAtAll) {
  AddressRange range = reserve(2);
  GraphExec exec = capture(main_, [&] {
                     kit_->add(main_, at(range, 1), kCount, 1);
                     kit_->axpy(main_, at(range, 1), at(range, 0), kCount, 2);
                   }).instantiate();
  exec.upload(main_);
  main_.synchronize();
  map(range, 0, 2);
  write(range, 0, 10);
  write(range, 1, 100);
  exec.launch(main_);
  EXPECT_EQ(read(range, 1), 121);
}

TEST_F(AddressRangeReplay, MayBeUnmappedAndMappedAnewUnderALiveExecutable) {
  AddressRange range = reserve(2);
  map(range, 0, 1);
  map(range, 1, 1);
  set(index_, 1);
  GraphExec exec = adder(range, index_);
  write(range, 0, 3);
  for (int round = 0; round < 3; ++round) {
    write(range, 1, 7);
    exec.launch(main_);
    EXPECT_EQ(read(range, 1), 8);
    unmap(range, 1, 1);
    map(range, 1, 1);
  }
  EXPECT_EQ(read(range, 0), 3);
}

TEST_F(AddressRangeReplay, UnmappingWaitsForReplaysInFlight) {
  AddressRange range = reserve(1);
  map(range, 0, 1);
  write(range, 0, 1);
  set(index_, 0);
  Buffer result = floats(0);
  GraphExec exec = adder(range, index_);
  Gate gate(*kit_, *device_, main_);
  exec.launch(main_);
  kit_->copy_scaled(main_, data(result), at(range, 0), kCount, 1);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  unmap(range, 0, 1);
  EXPECT_TRUE(main_.query());
  opener.join();
  EXPECT_EQ(value_of(result), 2);
}

TEST_F(AddressRangeReplay, DestroyingOneWaitsForWorkInFlight) {
  Buffer result = floats(0);
  std::thread opener;
  {
    AddressRange range = reserve(1);
    map(range, 0, 1);
    write(range, 0, 4);
    auto gate = std::make_shared<Gate>(*kit_, *device_, main_);
    kit_->copy_scaled(main_, data(result), at(range, 0), kCount, 1);
    opener = std::thread([gate] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      gate->open();
    });
  }
  opener.join();
  EXPECT_EQ(value_of(result), 4);
}

TEST_F(AddressRangeReplay, AreRefusedOnTheThreadThatRecords) {
  AddressRange range = reserve(2);
  map(range, 0, 1);
  Buffer x = floats(0);
  const std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"Device::reserve", [&] { (void)reserve(1); }},
      {"AddressRange::map", [&] { map(range, 1, 1); }},
      {"AddressRange::unmap", [&] { unmap(range, 0, 1); }},
  };
  for (const auto& [name, call] : calls) {
    const std::string text = fault_of(CaptureFault::refused, [&] {
      capture(main_, [&] {
        add(main_, x, 1, "qkv");
        call();
      });
    });
    expect_parts(text, {name, "address range 'kv'", device_->label(), " from thread ",
                        "stream 'main' is recording", "the last one 'qkv'", "recording"});
    expect_usable(main_);
  }
  EXPECT_EQ(range.mapped_bytes(), granule_);
  for (const auto& [name, call] : calls) EXPECT_NO_THROW(call()) << name;
}

TEST_F(AddressRangeReplay, OfAnotherThreadLeaveARecordingAlone) {
  AddressRange range = reserve(2);
  map(range, 0, 1);
  map(range, 1, 1);
  Buffer x = floats(0);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    std::thread([&] {
      unmap(range, 1, 1);
      map(range, 1, 1);
      AddressRange own = reserve(1, "own");
      map(own, 0, 1);
      side_.fill({at(own, 0), kCount * sizeof(float), MemorySpace::device}, 0);
      kit_->add(side_, at(own, 0), kCount, 1);
      unmap(own, 0, 1);
    }).join();
    kit_->add(main_, at(range, 1), kCount, 1);
  });
  EXPECT_EQ(graph.node_count(), 2u);
  write(range, 1, 5);
  graph.instantiate().launch(main_);
  EXPECT_EQ(read(range, 1), 6);
  EXPECT_EQ(value_of(x), 1);
}

TEST_F(AddressRangeReplay, DestroyedDuringARecordingLiveUntilItsEnd) {
  constexpr std::size_t kMost = std::size_t{16} << 20;
  const std::size_t count = std::max<std::size_t>(kMost / granule_, 1);
  Buffer x = floats(0);
  auto own = std::make_unique<AddressRange>(reserve(count));
  auto foreign = std::make_unique<AddressRange>(reserve(count));
  map_once(*own);
  map_once(*foreign);
  const std::size_t free_before = free_bytes();
  map(*own, 0, count);
  map(*foreign, 0, count);
  const std::size_t free_with = free_bytes();
  capture(main_, [&] {
    add(main_, x, 1);
    own.reset();
    std::thread([&] { foreign.reset(); }).join();
    EXPECT_EQ(free_bytes(), free_with) << "freed inside a recording";
  });
  EXPECT_GE(free_bytes(), free_before);
}

}  // namespace
}  // namespace reprise::contract
