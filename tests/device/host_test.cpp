// SPDX-License-Identifier: Apache-2.0
// What is particular to the host device.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/error.h>
#include <reprise/graph.h>
#include <reprise/host.h>

namespace reprise::host {
namespace {

TEST(Host, OptionsAreChecked) {
  EXPECT_EQ(open({.threads = 3})->properties().multiprocessors, 3);
  EXPECT_THROW(open({.threads = -1}), UsageError);
  EXPECT_THROW(open({.threads = 1'000'000}), UsageError);
}

TEST(Host, AnEmptyTaskIsRefused) {
  const auto device = open({.threads = 1});
  Stream stream = device->create_stream("s");
  EXPECT_THROW(enqueue(stream, "nothing", nullptr), UsageError);
}

TEST(Host, TasksOfSeveralStreamsShareTheComputeThreads) {
  const auto device = open({.threads = 2});
  std::vector<Stream> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(device->create_stream(std::to_string(i)));
  std::vector<std::vector<float>> sums(streams.size(), std::vector<float>(256, 0.0f));
  Device* raw = device.get();
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      enqueue(streams[i], "loop", [raw, data = sums[i].data()] {
        parallel_for(*raw, 256, 16, [=](std::size_t begin, std::size_t end) {
          for (std::size_t k = begin; k < end; ++k) data[k] += 1;
        });
      });
    }
  }
  device->synchronize();
  for (const auto& sum : sums) {
    for (const float value : sum) ASSERT_EQ(value, 100);
  }
}

TEST(Host, AFaultInsideAParallelLoopLosesTheDevice) {
  const auto device = open({.threads = 2});
  Stream stream = device->create_stream("s");
  enqueue(stream, "loop", [raw = device.get()] {
    parallel_for(*raw, 100, 1, [](std::size_t begin, std::size_t) {
      if (begin == 0) throw std::runtime_error("bad range");
    });
  });
  try {
    stream.synchronize();
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(),
                 "device host:0 is lost: host task 'loop' on stream 's' threw: bad range; open the "
                 "device anew");
  }
}

TEST(Host, AThrownNonExceptionIsAFaultToo) {
  const auto device = open({.threads = 1});
  Stream stream = device->create_stream("s");
  enqueue(stream, "odd", [] { throw 5; });
  EXPECT_THROW(stream.synchronize(), DeviceError);
}

TEST(Host, AFaultInAReplayNamesTheNode) {
  const auto device = open({.threads = 1});
  Stream stream = device->create_stream("s");
  GraphExec exec = capture(stream, [&] {
                     const LabelScope layer(stream, "layer 3");
                     enqueue(stream, "good", [] {});
                     enqueue(stream, "bad", [] { throw std::runtime_error("overflow"); });
                   }).instantiate();
  exec.launch(stream);
  try {
    stream.synchronize();
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("'layer 3 / bad' on stream 's' threw: overflow"),
              std::string::npos)
        << error.what();
  }
}

TEST(Host, WhatATaskHoldsIsLetGoBeforeItCountsAsDone) {
  const auto device = open({.threads = 1});
  Stream stream = device->create_stream("s");
  auto held = std::make_shared<int>(1);
  enqueue(stream, "holds", [held] {});
  stream.synchronize();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Host, ARecordedTaskKeepsWhatItHoldsUntilItsGraphsAreGone) {
  const auto device = open({.threads = 1});
  Stream stream = device->create_stream("s");
  const auto held = std::make_shared<int>(0);
  auto graph = std::make_unique<Graph>(
      capture(stream, [&] { enqueue(stream, "holds", [count = held] { ++*count; }); }));
  auto exec = std::make_unique<GraphExec>(graph->instantiate());
  graph.reset();
  for (int round = 0; round < 3; ++round) exec->launch(stream);
  stream.synchronize();
  EXPECT_EQ(*held, 3);
  EXPECT_GT(held.use_count(), 1);
  exec.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Host, ManyStreamsManyEvents) {
  const auto device = open({.threads = 1});
  std::vector<Stream> streams;
  std::vector<Event> events;
  for (int i = 0; i < 6; ++i) {
    streams.push_back(device->create_stream(std::to_string(i)));
    events.push_back(device->create_event());
  }
  // A token that goes round: plain ints, so that the thread sanitizer sees a missing order.
  int token = 0;
  for (int round = 0; round < 600; ++round) {
    const std::size_t here = static_cast<std::size_t>(round) % streams.size();
    const std::size_t next = (here + 1) % streams.size();
    enqueue(streams[here], "pass", [&token] { ++token; });
    streams[here].record(events[here]);
    streams[next].wait(events[here]);
  }
  device->synchronize();
  EXPECT_EQ(token, 600);
}

}  // namespace
}  // namespace reprise::host
