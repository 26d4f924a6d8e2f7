// SPDX-License-Identifier: Apache-2.0
// After a kernel has failed the device is lost: every call says so with the first cause, and
// nothing hangs (DESIGN §4.2).
#include <thread>

#include <reprise/address_range.h>

#include "contracts/fixture.h"

namespace reprise::contract {
namespace {

class LostDevice : public RecordingTest {
 protected:
  void SetUp() override {
    if (!kit_->can_lose_device()) GTEST_SKIP() << "a lost device would take the process with it";
  }

  template <class Call>
  void expect_lost(const Call& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const DeviceError& error) {
      expect_parts(error.what(), {"device " + device_->label() + " is lost", "first cause"});
    }
  }
};

TEST_F(LostDevice, KeepsTheFirstCauseAndRefusesEveryCall) {
  Buffer x = floats(1);
  Event event = device_->create_event();
  AddressRange range = device_->reserve(2, "range");
  range.map(0, range.bytes());
  const Graph graph = capture(main_, [&] { add(main_, x, 1); });
  GraphExec exec = graph.instantiate();
  EXPECT_FALSE(device_->lost());
  {
    Gate gate(*kit_, *device_, main_);
    kit_->lose_device(main_, "first cause");
    kit_->lose_device(main_, "second cause");
    add(main_, x, 1);
    main_.record(event);
  }
  expect_lost([&] { main_.synchronize(); });
  EXPECT_TRUE(device_->lost());
  std::vector<std::byte> bytes(4);
  expect_lost([&] { main_.synchronize(); });
  expect_lost([&] { side_.synchronize(); });
  expect_lost([&] { main_.query(); });
  expect_lost([&] { device_->synchronize(); });
  expect_lost([&] { event.synchronize(); });
  expect_lost([&] { event.query(); });
  expect_lost([&] { side_.wait(event); });
  expect_lost([&] { side_.record(event); });
  expect_lost([&] { add(side_, x, 1); });
  expect_lost([&] { side_.fill(x.view(), 0); });
  expect_lost([&] { x.to_host(side_, bytes); });
  expect_lost([&] { x.from_host(side_, bytes); });
  expect_lost([&] { exec.launch(side_); });
  expect_lost([&] { graph.instantiate(); });
  expect_lost([&] { exec.update(graph); });
  expect_lost([&] { capture(side_, [] {}); });
  expect_lost([&] { device_->allocate(64, "y"); });
  expect_lost([&] { (void)device_->reserve(64, "another range"); });
  expect_lost([&] { range.unmap(0, range.bytes()); });
  expect_lost([&] { range.map(0, range.bytes()); });
  expect_lost([&] { device_->create_stream("another"); });
  expect_lost([&] { device_->create_event(); });
}

TEST_F(LostDevice, InAReplay) {
  Buffer x = floats(1);
  GraphExec exec = capture(main_, [&] {
                     add(main_, x, 1);
                     const LabelScope layer(main_, "layer 0");
                     kit_->lose_device(main_, "first cause");
                     add(main_, x, 1);
                   }).instantiate();
  EXPECT_FALSE(device_->lost());
  exec.launch(main_);
  expect_lost([&] {
    exec.launch(side_);
    side_.synchronize();
  });
  expect_lost([&] { main_.synchronize(); });
}

TEST_F(LostDevice, WhileRecordingEndsTheRecording) {
  Buffer x = floats(1);
  expect_lost([&] {
    capture(main_, [&] {
      add(main_, x, 1);
      std::thread([&] {
        kit_->lose_device(side_, "first cause");
        EXPECT_THROW(side_.synchronize(), DeviceError);
      }).join();
    });
  });
  EXPECT_FALSE(main_.recording());
}

TEST_F(LostDevice, ANewDeviceWorks) {
  kit_->lose_device(main_, "first cause");
  EXPECT_THROW(main_.synchronize(), DeviceError);
  const auto fresh = kit_->open();
  Stream stream = fresh->create_stream("fresh");
  Buffer x = fresh->allocate(kCount * sizeof(float), "x");
  kit_->fill_index(stream, data(x), kCount);
  std::vector<float> values(kCount);
  x.to_host(stream, std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values.back(), kCount - 1);
}

}  // namespace
}  // namespace reprise::contract
