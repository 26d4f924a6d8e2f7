// SPDX-License-Identifier: Apache-2.0
// What travels to the device, and what does not because it is there already.
#include "graph/input_slab.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/host.h>

namespace reprise {
namespace {

class InputSlabTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = 64;

  void write(std::size_t offset, std::vector<std::uint8_t> values, bool always = false) {
    inputs_.write(offset, values.data(), values.size(), always);
  }
  void write_rows(std::size_t offset, std::uint8_t value, std::size_t count, bool always = false) {
    inputs_.write_rows(offset, std::vector<std::byte>(4, std::byte{value}), count, always);
  }
  void flush() {
    inputs_.flush(stream_);
    stream_.synchronize();
  }
  /// Changes the device's copy behind the slab's back, so that only what travels is seen.
  void poison() {
    stream_.fill(slab_.view(), kPoison);
    stream_.synchronize();
  }
  int at(std::size_t offset) const {
    return static_cast<const std::uint8_t*>(slab_.data())[offset];
  }
  /// The bytes of [begin, end) are `value`, and those round it were not touched.
  void expect_only(std::size_t begin, std::size_t end, int value) const {
    for (std::size_t i = 0; i < kBytes; ++i) {
      EXPECT_EQ(at(i), i >= begin && i < end ? value : kPoison) << i;
    }
  }

  static constexpr std::uint8_t kPoison = 0xAB;
  std::shared_ptr<Device> device_ = host::open({.threads = 1});
  Stream stream_ = device_->create_stream("inputs");
  Buffer slab_ = device_->allocate(kBytes, "slab");
  InputSlab inputs_{*device_, slab_, 48, 8};
};

TEST_F(InputSlabTest, WhatWasNeverSentTravelsWhateverItsValue) {
  poison();
  write(0, {0});  // the slab's own copy begins as zeros, the device's does not
  write(kBytes - 1, {0});
  flush();
  EXPECT_EQ(at(0), 0);
  EXPECT_EQ(at(1), kPoison);
  EXPECT_EQ(at(kBytes - 1), 0);
  poison();
  write_rows(8, 0, 2);
  flush();
  expect_only(8, 16, 0);
}

TEST_F(InputSlabTest, EqualBytesDoNotTravelAgain) {
  write(4, {1, 2, 3});
  write_rows(8, 5, 3);
  flush();
  poison();
  write(4, {1, 2, 3});
  write_rows(8, 5, 3);
  flush();
  expect_only(0, 0, 0);
  write(4, {1, 2, 4});
  flush();
  EXPECT_EQ(at(6), 4);
  EXPECT_EQ(at(8), kPoison);
}

TEST_F(InputSlabTest, AlwaysMeansAlways) {
  write(4, {7, 7}, true);
  write_rows(8, 7, 2, true);
  flush();
  poison();
  write(4, {7, 7}, true);
  flush();
  expect_only(4, 6, 7);
  poison();
  write_rows(8, 7, 2, true);
  flush();
  expect_only(8, 16, 7);
}

TEST_F(InputSlabTest, WhatIsForgottenTravelsOnceMore) {
  write(4, {7, 7});
  write_rows(8, 7, 2);
  flush();
  inputs_.forget(4, 2);
  inputs_.forget(12, 4);
  inputs_.forget(0, 0);
  poison();
  write(4, {7, 7});
  flush();
  expect_only(4, 6, 7);
  poison();
  write_rows(8, 7, 2);
  flush();
  expect_only(8, 16, 7);
  poison();
  write(4, {7, 7});
  write_rows(8, 7, 2);
  flush();
  expect_only(0, 0, 0);
}

TEST_F(InputSlabTest, OfEqualRowsOnlyTheChangedStretchTravels) {
  write_rows(0, 1, 6);
  write_rows(4, 2, 1);
  write_rows(12, 2, 1);
  flush();
  poison();
  write_rows(0, 1, 6);  // rows 1 and 3 differ: one stretch from the first to the last of them
  flush();
  expect_only(4, 16, 1);
}

TEST_F(InputSlabTest, GapsThatTheDeviceHoldsAreFilledAndOthersLeftAlone) {
  write(0, std::vector<std::uint8_t>(kBytes, 1));
  flush();
  poison();
  write(0, {2});
  write(8, {2});   // between them the device holds what the slab holds: one copy
  write(56, {2});  // beyond 48 the device writes itself, so that the gap must not travel
  write(50, {2});
  flush();
  EXPECT_EQ(at(0), 2);
  EXPECT_EQ(at(8), 2);
  EXPECT_EQ(at(50), 2);
  EXPECT_EQ(at(51), kPoison);
  EXPECT_EQ(at(55), kPoison);
  EXPECT_EQ(at(56), 2);
  EXPECT_EQ(at(4), 1);
  EXPECT_EQ(at(9), kPoison);
  inputs_.forget(4, 1);
  poison();
  write(0, {3});
  write(8, {3});
  flush();
  EXPECT_EQ(at(0), 3);
  EXPECT_EQ(at(8), 3);
  EXPECT_EQ(at(4), kPoison);  // the slab's copy may be older than the device's
}

TEST_F(InputSlabTest, EverythingTravelsWhenAsked) {
  write(0, std::vector<std::uint8_t>(kBytes, 9));
  flush();
  poison();
  inputs_.upload_all(stream_);
  stream_.synchronize();
  expect_only(0, kBytes, 9);
}

TEST_F(InputSlabTest, FourFlushesRunAheadOfTheDeviceAndKeepTheirValues) {
  std::atomic<bool> open{false};
  host::enqueue(stream_, "gate", [&open] {
    while (!open) std::this_thread::sleep_for(std::chrono::microseconds(50));
  });
  Buffer seen = device_->allocate(4, "seen");
  for (std::uint8_t n = 0; n < 4; ++n) {
    write(0, {static_cast<std::uint8_t>(n + 1)});
    inputs_.flush(stream_);
    stream_.copy(seen.view(n, 1), slab_.view(0, 1));
  }
  // A fifth would have to wait until the first pinned slab has been read.
  std::atomic<bool> fifth_done{false};
  std::thread fifth([&] {
    write(0, {5});
    inputs_.flush(stream_);
    fifth_done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(fifth_done);
  open = true;
  fifth.join();
  stream_.synchronize();
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(static_cast<const std::uint8_t*>(seen.data())[n], n + 1);
  }
  EXPECT_EQ(at(0), 5);
}

}  // namespace
}  // namespace reprise
