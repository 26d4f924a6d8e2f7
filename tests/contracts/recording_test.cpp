// SPDX-License-Identifier: Apache-2.0
// How recordings begin and end, well or badly, alone or beside others (DESIGN §4.2, §4.5, §4.8).
#include <array>
#include <thread>

#include "contracts/fixture.h"

namespace reprise::contract {
namespace {

class RecordingLife : public RecordingTest {};

TEST_F(RecordingLife, AnExceptionAtEveryPositionDiscardsIt) {
  Buffer x = floats(1);
  Buffer y = floats(1);
  Event fork = device_->create_event();
  Event join = device_->create_event();
  const std::vector<std::function<void()>> steps = {
      [&] { add(main_, x, 1); },   [&] { main_.fill(y.view(), 0); },
      [&] { main_.record(fork); }, [&] { side_.wait(fork); },
      [&] { add(side_, y, 1); },   [&] { side_.record(join); },
      [&] { main_.wait(join); },   [&] { main_.copy(x.view(), y.view()); },
  };
  const auto record = [&](std::size_t stop_before) {
    return capture(main_, [&] {
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i == stop_before) throw std::domain_error("position " + std::to_string(i));
        steps[i]();
      }
      if (stop_before == steps.size()) throw std::domain_error("at the end");
    });
  };
  for (std::size_t position = 0; position <= steps.size(); ++position) {
    SCOPED_TRACE(position);
    EXPECT_THROW(record(position), std::domain_error);
    expect_usable(main_);
    expect_usable(side_);
    EXPECT_EQ(value_of(x), 1);
    EXPECT_EQ(value_of(y), 1);
  }
  record(steps.size() + 1).instantiate().launch(main_);
  EXPECT_EQ(value_of(x), 1);
  EXPECT_EQ(value_of(y), 1);
}

TEST_F(RecordingLife, AnEmptyOneIsAnError) {
  Event event = device_->create_event();
  const std::string text = fault_of(CaptureFault::empty, [&] { capture(main_, [] {}); });
  expect_parts(text, {"stream 'main' (", "holds no work"});
  fault_of(CaptureFault::empty, [&] {
    capture(main_, [&] {
      main_.record(event);
      main_.wait(event);
      main_.fill({nullptr, 0, MemorySpace::device}, 0);
    });
  });
  expect_usable(main_);
}

TEST_F(RecordingLife, DoNotNestOnOneThread) {
  Buffer x = floats(1);
  for (Stream* inner : {&main_, &side_}) {
    const std::string text = fault_of(CaptureFault::nested, [&] {
      capture(main_, [&] {
        add(main_, x, 1, "outer");
        capture(*inner, [&] { add(*inner, x, 1); });
      });
    });
    expect_parts(text, {"capture on stream '" + inner->name() + "'", "'main' is recording",
                        "1 node so far", "'outer'"});
    expect_usable(main_);
    expect_usable(side_);
  }
}

TEST_F(RecordingLife, TheDefaultStreamCannotRecord) {
  const std::string text =
      fault_of(CaptureFault::refused, [&] { capture(device_->default_stream(), [] {}); });
  expect_parts(text, {"stream 'default' (", "Device::create_stream"});
  Buffer x = floats(1);
  add(device_->default_stream(), x, 1);
  EXPECT_EQ(value_of(x, device_->default_stream()), 2);
}

TEST_F(RecordingLife, TwoThreadsRecordOnTwoStreamsAtOnce) {
  Buffer x = floats(0);
  Buffer y = floats(0);
  const auto work = [&](Stream& stream, const Buffer& buffer, float c) {
    for (int round = 0; round < 50; ++round) {
      GraphExec exec = capture(stream, [&] {
                         for (int i = 0; i < 10; ++i) add(stream, buffer, c);
                       }).instantiate();
      exec.launch(stream);
    }
  };
  std::thread other([&] { work(side_, y, 3); });
  work(main_, x, 2);
  other.join();
  device_->synchronize();
  EXPECT_EQ(value_of(x), 1000);
  EXPECT_EQ(value_of(y), 1500);
}

TEST_F(RecordingLife, EagerWorkBesideARecordingRuns) {
  Buffer x = floats(0);
  Buffer y = floats(0);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      add(side_, y, 1);
      side_.synchronize();
      device_->synchronize();
    }
  });
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(capture(main_, [&] { add(main_, x, 1); }).node_count(), 1u);
  }
  stop = true;
  other.join();
  EXPECT_EQ(value_of(x), 0);
}

TEST_F(RecordingLife, DestroyingItsStreamDiscardsIt) {
  Buffer x = floats(1);
  for (const bool origin : {true, false}) {
    auto doomed = std::make_unique<Stream>(device_->create_stream("doomed"));
    auto other = std::make_unique<Stream>(device_->create_stream("other"));
    Event fork = device_->create_event();
    const std::string text = fault_of(CaptureFault::refused, [&] {
      Stream& begin = origin ? *doomed : *other;
      Stream& joined = origin ? *other : *doomed;
      capture(begin, [&] {
        const LabelScope scope(begin, "scope");
        add(begin, x, 1);
        begin.record(fork);
        joined.wait(fork);
        const LabelScope second(joined, "joined");
        add(joined, x, 1);
        doomed.reset();
      });
    });
    expect_parts(text, {"stream 'doomed'", "destroyed", "2 nodes so far"});
    expect_usable(*other);
  }
  EXPECT_EQ(value_of(x), 1);
}

TEST_F(RecordingLife, BuffersAndEventsDestroyedMeanwhileLiveUntilItsEnd) {
  Buffer x = floats(1);
  const std::size_t free_before = free_bytes();
  auto scratch = std::make_unique<Buffer>(big_buffer());
  auto event = std::make_unique<Event>(device_->create_event());
  main_.record(*event);
  const std::size_t free_with = free_bytes();
  EXPECT_LT(free_with, free_before);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    event.reset();
    scratch.reset();
    auto inner = device_->create_event();
    main_.record(inner);
    EXPECT_EQ(free_bytes(), free_with) << "freed inside a recording";
    Buffer moved_over;
    moved_over = Buffer();
  });
  EXPECT_EQ(free_bytes(), free_before);
  EXPECT_EQ(graph.node_count(), 1u);
  expect_usable(main_);
}

TEST_F(RecordingLife, DeferralLastsUntilTheLastRecordingOfTheDevice) {
  Buffer x = floats(1);
  const std::size_t free_before = free_bytes();
  auto scratch = std::make_unique<Buffer>(big_buffer());
  const std::size_t free_with = free_bytes();
  capture(main_, [&] {
    add(main_, x, 1);
    std::thread([&] {
      capture(side_, [&] {
        add(side_, x, 1);
        scratch.reset();
      });
    }).join();
    EXPECT_EQ(free_bytes(), free_with);
  });
  EXPECT_EQ(free_bytes(), free_before);
}

TEST_F(RecordingLife, AnExecutableDestroyedMeanwhileFinishesItsReplays) {
  Buffer x = floats(1);
  Buffer y = floats(1);
  auto exec = std::make_unique<GraphExec>(capture(side_, [&] { add(side_, y, 1); }).instantiate());
  Gate gate(*kit_, *device_, side_);
  exec->launch(side_);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    exec.reset();  // must not wait: the gate is closed
    gate.open();
  });
  EXPECT_EQ(graph.node_count(), 1u);
  EXPECT_EQ(value_of(y, side_), 2);
}

TEST_F(RecordingLife, AnExecutableDestroyedInFlightWaits) {
  Buffer x = floats(0);
  for (int round = 0; round < 100; ++round) {
    GraphExec exec = capture(main_, [&] {
                       for (int i = 0; i < 5; ++i) add(main_, x, 1);
                     }).instantiate();
    exec.launch(main_);
    exec.launch(side_);
  }
  device_->synchronize();
  EXPECT_EQ(value_of(x), 1000);
}

TEST_F(RecordingLife, AnIdleStreamOrADeviceDestroyedMeanwhileDoesNoHarm) {
  Buffer x = floats(1);
  auto passing = std::make_unique<Stream>(device_->create_stream("passing"));
  add(*passing, x, 1);
  auto other = kit_->open();
  Buffer y = other->allocate(64, "y");
  other->default_stream().fill(y.view(), 0);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    passing.reset();
    y = Buffer();
    other.reset();
  });
  EXPECT_EQ(graph.node_count(), 1u);
  EXPECT_EQ(value_of(x), 2);
}

TEST_F(RecordingLife, AStreamDestroyedWithWorkFinishesIt) {
  Buffer x = floats(0);
  for (int round = 0; round < 20; ++round) {
    Stream passing = device_->create_stream("passing");
    add(passing, x, 1);
  }
  EXPECT_EQ(value_of(x), 20);
}

TEST_F(RecordingLife, EverythingKeepsTheDeviceAlive) {
  Buffer x = floats(1);
  GraphExec exec = capture(main_, [&] { add(main_, x, 1); }).instantiate();
  device_.reset();
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 2);
}

}  // namespace
}  // namespace reprise::contract
