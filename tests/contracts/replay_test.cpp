// SPDX-License-Identifier: Apache-2.0
// Recording executes nothing, replay does, and in order (DESIGN §4.1).
#include "contracts/fixture.h"

namespace reprise::contract {
namespace {

class Replay : public RecordingTest {};

TEST_F(Replay, RecordingExecutesNothingAndReplayDoes) {
  Buffer x = floats(1);
  const Graph graph = capture(main_, [&] { add(main_, x, 2); });
  EXPECT_EQ(value_of(x), 1);
  EXPECT_EQ(graph.node_count(), 1u);
  GraphExec exec = graph.instantiate();
  exec.upload(main_);
  EXPECT_EQ(value_of(x), 1);
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 3);
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 5);
}

TEST_F(Replay, EagerWorkIsAsynchronous) {
  Buffer x = floats(1);
  Gate gate(*kit_, *device_, main_);
  add(main_, x, 1);
  EXPECT_FALSE(main_.query());
  gate.open();
  main_.synchronize();
  EXPECT_TRUE(main_.query());
  EXPECT_EQ(value_of(x), 2);
}

TEST_F(Replay, IsAsynchronousAndBehindTheStreamsWork) {
  Buffer x = floats(1);
  Buffer y = floats(0);
  GraphExec exec = capture(main_, [&] { scale(main_, y, x, 3); }).instantiate();
  Gate gate(*kit_, *device_, main_);
  add(main_, x, 1);
  exec.launch(main_);
  add(main_, y, 100);
  EXPECT_FALSE(main_.query());
  gate.open();
  EXPECT_EQ(value_of(y), 106);
}

TEST_F(Replay, KeepsTheOrderOfKernelsCopiesAndFills) {
  Buffer x = floats(5);
  Buffer y = floats(9);
  Buffer input = device_->allocate_pinned(kCount * sizeof(float), "input");
  Buffer output = device_->allocate_pinned(kCount * sizeof(float), "output");
  const Graph graph = capture(main_, [&] {
    main_.copy(x.view(), input.view());
    add(main_, x, 1);
    main_.copy(y.view(), x.view());
    main_.fill(x.view(), 0);
    kit_->axpy(main_, data(y), data(x), kCount, 7);  // adds 7 * 0: the fill came first
    add(main_, y, 10);
    main_.copy(output.view(), y.view());
  });
  ASSERT_EQ(graph.node_count(), 7u);
  const std::vector<std::string> kinds = {"copy",   "kernel", "copy", "fill",
                                          "kernel", "kernel", "copy"};
  const std::vector<GraphNode> nodes = graph.nodes();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(nodes[i].kind, kinds[i]) << i;
    EXPECT_EQ(nodes[i].bytes, kinds[i] == "kernel" ? 0 : kCount * sizeof(float)) << i;
    ASSERT_EQ(nodes[i].dependencies.size(), i == 0 ? 0u : 1u) << i;
    if (i > 0) {
      EXPECT_EQ(nodes[i].dependencies[0], i - 1);
    }
  }
  GraphExec exec = graph.instantiate();
  for (int round = 1; round <= 3; ++round) {
    // The recording keeps addresses, not contents.
    for (std::size_t i = 0; i < kCount; ++i) data(input)[i] = static_cast<float>(round * 100);
    exec.launch(main_);
    main_.synchronize();
    EXPECT_EQ(data(output)[kCount - 1], round * 100 + 11);
    EXPECT_EQ(value_of(x), 0);
  }
}

TEST_F(Replay, AThousandTimesEqualsTheEagerTwin) {
  Buffer x = device_->allocate(kCount * sizeof(float), "x");
  Buffer y = device_->allocate(kCount * sizeof(float), "y");
  const auto step = [&] {
    kit_->axpy(main_, data(y), data(x), kCount, 0.37f);
    kit_->copy_scaled(main_, data(x), data(y), kCount, 0.61f);
    add(main_, x, 0.013f);
  };
  const auto run = [&](const std::function<void()>& once) {
    kit_->fill_index(main_, data(x), kCount);
    main_.fill(y.view(), 0);
    for (int round = 0; round < 1000; ++round) once();
    std::vector<std::byte> bytes(x.bytes());
    x.to_host(main_, bytes);
    return bytes;
  };
  const auto eager = run(step);
  GraphExec exec = capture(main_, step).instantiate();
  EXPECT_EQ(run([&] { exec.launch(main_); }), eager);
}

TEST_F(Replay, OnAlternatingStreamsRunsOneAfterTheOther) {
  Buffer x = floats(0);
  Buffer y = floats(0);
  // Not commutative, so that two replays at once or out of order are seen.
  GraphExec exec = capture(main_, [&] {
                     add(main_, x, 1);
                     kit_->copy_scaled(main_, data(y), data(x), kCount, 1);
                     kit_->axpy(main_, data(x), data(y), kCount, 1);
                     kit_->copy_scaled(main_, data(x), data(x), kCount, 0.5f);
                   }).instantiate();
  for (int round = 0; round < 200; ++round) exec.launch(round % 2 == 0 ? main_ : side_);
  device_->synchronize();
  EXPECT_EQ(value_of(x), 200);
}

TEST_F(Replay, WaitsForTheOneBeforeAlsoOnAnotherStream) {
  Buffer x = floats(0);
  GraphExec exec = capture(main_, [&] { add(main_, x, 1); }).instantiate();
  Gate gate(*kit_, *device_, main_);
  exec.launch(main_);
  exec.launch(side_);
  EXPECT_FALSE(side_.query());
  gate.open();
  EXPECT_EQ(value_of(x, side_), 2);
}

TEST_F(Replay, UpdateTakesAGraphOfEqualTopology) {
  Buffer x = floats(0);
  Buffer y = floats(0);
  const auto record = [&](const Buffer& target, float c) {
    return capture(main_, [&] {
      add(main_, target, c);
      add(main_, target, c);
    });
  };
  const Graph first = record(x, 1);
  const Graph second = record(y, 10);
  EXPECT_EQ(first.signature(), second.signature());
  GraphExec exec = first.instantiate();
  exec.launch(main_);
  EXPECT_EQ(exec.update(second), UpdateResult::updated);
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 2);
  EXPECT_EQ(value_of(y), 20);
}

TEST_F(Replay, UpdateLeavesReplaysInFlightAlone) {
  Buffer x = floats(0);
  GraphExec exec = capture(main_, [&] { add(main_, x, 1); }).instantiate();
  const Graph other = capture(main_, [&] { add(main_, x, 10); });
  Gate gate(*kit_, *device_, main_);
  exec.launch(main_);
  EXPECT_EQ(exec.update(other), UpdateResult::updated);
  gate.open();
  EXPECT_EQ(value_of(x), 1);
}

TEST_F(Replay, UpdateRefusesAnotherTopologyAndTheOldStaysValid) {
  Buffer x = floats(0);
  Buffer y = floats(0);
  Event fork = device_->create_event();
  Event join = device_->create_event();
  GraphExec exec = capture(main_, [&] {
                     add(main_, x, 1);
                     add(main_, x, 1);
                   }).instantiate();
  const Graph longer = capture(main_, [&] {
    for (int i = 0; i < 3; ++i) add(main_, x, 5);
  });
  const Graph other_kernels = capture(main_, [&] {
    add(main_, x, 5);
    scale(main_, y, x, 5);
  });
  const Graph other_edges = capture(main_, [&] {
    main_.record(fork);
    side_.wait(fork);
    add(main_, x, 5);
    add(side_, y, 5);
    side_.record(join);
    main_.wait(join);
  });
  for (const Graph* graph : {&longer, &other_kernels, &other_edges}) {
    EXPECT_EQ(exec.update(*graph), UpdateResult::topology_differs);
    exec.launch(main_);
  }
  EXPECT_EQ(value_of(x), 6);
}

TEST_F(Replay, LabelsNest) {
  Buffer x = floats(0);
  const Graph graph = capture(main_, [&] {
    const LabelScope layer(main_, "layer 0");
    add(main_, x, 1, "a");
    {
      const LabelScope attention(main_, "attention");
      add(main_, x, 1, "qkv");
      main_.fill(x.view(), 0);
    }
    add(main_, x, 1, "b");
  });
  const std::vector<GraphNode> nodes = graph.nodes();
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[0].label, "layer 0 / a");
  EXPECT_EQ(nodes[1].label, "layer 0 / attention / qkv");
  EXPECT_EQ(nodes[2].label, "layer 0 / attention");
  EXPECT_EQ(nodes[3].label, "layer 0 / b");
}

TEST_F(Replay, LabelsOfAFailedRecordingAreForgotten) {
  Buffer x = floats(0);
  EXPECT_THROW(capture(main_,
                       [&] {
                         const LabelScope layer(main_, "lost");
                         add(main_, x, 1);
                         throw std::runtime_error("stop");
                       }),
               std::runtime_error);
  const LabelScope outside(main_, "eager");
  EXPECT_EQ(capture(main_, [&] { add(main_, x, 1, "a"); }).nodes().at(0).label, "a");
}

TEST_F(Replay, WhatWasMovedFromIsRefused) {
  Buffer x = floats(0);
  GraphExec exec = capture(main_, [&] { add(main_, x, 1); }).instantiate();
  GraphExec other = std::move(exec);
  EXPECT_THROW(exec.launch(main_), UsageError);
  other.launch(main_);
  other = capture(main_, [&] { add(main_, x, 10); }).instantiate();
  other.launch(main_);
  EXPECT_EQ(value_of(x), 11);
}

TEST_F(Replay, AnotherDeviceObjectIsRefused) {
  Buffer x = floats(0);
  GraphExec exec = capture(main_, [&] { add(main_, x, 1); }).instantiate();
  const auto other = kit_->open();
  Stream stream = other->create_stream("other");
  EXPECT_THROW(exec.launch(stream), UsageError);
  EXPECT_THROW(exec.upload(stream), UsageError);
  Buffer y = other->allocate(x.bytes(), "y");
  const Graph foreign = capture(stream, [&] { add(stream, y, 1); });
  EXPECT_THROW(exec.update(foreign), UsageError);
  Event event = other->create_event();
  EXPECT_THROW(main_.record(event), UsageError);
  EXPECT_THROW(main_.wait(event), UsageError);
  std::vector<std::byte> bytes(4);
  EXPECT_THROW(x.to_host(stream, bytes), UsageError);
}

}  // namespace
}  // namespace reprise::contract
