// SPDX-License-Identifier: Apache-2.0
// Streams that join a recording by events, and how events of a recording may be used (DESIGN §4.1).
#include <thread>

#include "contracts/fixture.h"

namespace reprise::contract {
namespace {

class ForkJoin : public RecordingTest {
 protected:
  /// `later` runs after what is on `earlier` now.
  void order(Stream& earlier, Stream& later) {
    events_.push_back(std::make_unique<Event>(device_->create_event()));
    earlier.record(*events_.back());
    later.wait(*events_.back());
  }

  std::vector<std::unique_ptr<Event>> events_;
  Stream third_ = device_->create_stream("third");
};

using Dependencies = std::vector<std::uint32_t>;

TEST_F(ForkJoin, AcrossTwoStreams) {
  Buffer x = floats(1);
  Buffer y = floats(1);
  Buffer z = floats(1);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    order(main_, side_);
    EXPECT_TRUE(side_.recording());
    scale(side_, y, x, 10);
    add(main_, z, 100);  // at the same time: not what the other stream reads
    order(side_, main_);
    kit_->axpy(main_, data(x), data(y), kCount, 1);
  });
  EXPECT_FALSE(side_.recording());
  EXPECT_EQ(value_of(x), 1);
  const std::vector<GraphNode> nodes = graph.nodes();
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[1].dependencies, Dependencies({0}));
  EXPECT_EQ(nodes[2].dependencies, Dependencies({0}));
  EXPECT_EQ(nodes[3].dependencies, Dependencies({1, 2}));
  graph.instantiate().launch(main_);
  device_->synchronize();
  EXPECT_EQ(value_of(y), 20);
  EXPECT_EQ(value_of(z), 101);
  EXPECT_EQ(value_of(x), 22);
  expect_usable(side_);
}

TEST_F(ForkJoin, AcrossThreeStreams) {
  Buffer x = floats(1);
  Buffer y = floats(0);
  Buffer z = floats(0);
  GraphExec exec = capture(main_, [&] {
                     order(main_, side_);
                     order(main_, third_);
                     scale(side_, y, x, 2);
                     scale(third_, z, x, 3);
                     order(side_, main_);
                     order(third_, main_);
                     kit_->axpy(main_, data(x), data(y), kCount, 1);
                     kit_->axpy(main_, data(x), data(z), kCount, 1);
                   }).instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 6);
}

TEST_F(ForkJoin, NestedForkJoinedThroughTheMiddleStream) {
  Buffer x = floats(1);
  Buffer y = floats(0);
  Buffer z = floats(0);
  GraphExec exec = capture(main_, [&] {
                     order(main_, side_);
                     scale(side_, y, x, 2);
                     order(side_, third_);
                     scale(third_, z, y, 10);
                     order(third_, side_);
                     kit_->axpy(side_, data(y), data(z), kCount, 1);
                     order(side_, main_);
                     kit_->axpy(main_, data(x), data(y), kCount, 1);
                   }).instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 23);
}

TEST_F(ForkJoin, WaitingForOneselfIsHarmless) {
  Buffer x = floats(1);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    order(main_, main_);
    add(main_, x, 1);
  });
  EXPECT_EQ(graph.nodes().at(1).dependencies, Dependencies({0}));
  graph.instantiate().launch(main_);
  EXPECT_EQ(value_of(x), 3);
}

TEST_F(ForkJoin, EagerStreamsAreOrderedByEvents) {
  Buffer x = floats(1);
  Gate gate(*kit_, *device_, main_);
  add(main_, x, 1);
  order(main_, side_);
  scale(side_, x, x, 10);
  EXPECT_FALSE(events_.back()->query());
  gate.open();
  EXPECT_EQ(value_of(x, side_), 20);
  events_.back()->synchronize();
  EXPECT_TRUE(events_.back()->query());
}

TEST_F(ForkJoin, AnEventThatWasNeverRecordedHoldsNothingUp) {
  Buffer x = floats(1);
  Event event = device_->create_event();
  EXPECT_TRUE(event.query());
  event.synchronize();
  main_.wait(event);
  const Graph graph = capture(main_, [&] {
    main_.wait(event);
    add(main_, x, 1);
  });
  EXPECT_EQ(graph.node_count(), 1u);
}

TEST_F(ForkJoin, ElapsedTimeBetweenEvents) {
  Event start = device_->create_event();
  Event end = device_->create_event();
  EXPECT_THROW(end.elapsed_ms_since(start), UsageError);
  main_.record(start);
  Buffer x = floats(1);
  add(main_, x, 1);
  main_.record(end);
  end.synchronize();
  EXPECT_GT(end.elapsed_ms_since(start), 0.0);
  EXPECT_LT(start.elapsed_ms_since(end), 0.0);
}

TEST_F(ForkJoin, AnUnjoinedStreamIsNamed) {
  Buffer x = floats(1);
  Buffer y = floats(1);
  const std::string text = fault_of(CaptureFault::unjoined, [&] {
    capture(main_, [&] {
      add(main_, x, 1);
      order(main_, side_);
      order(main_, third_);
      order(third_, main_);
      add(side_, y, 1, "stray");
    });
  });
  expect_parts(text, {"'side'", "'main'", "2 nodes so far, the last one 'stray'"});
  EXPECT_EQ(text.find("'third'"), std::string::npos) << text;
  expect_usable(main_);
  expect_usable(side_);
  expect_usable(third_);
}

TEST_F(ForkJoin, WorkAfterTheJoinIsUnjoined) {
  Buffer x = floats(1);
  fault_of(CaptureFault::unjoined, [&] {
    capture(main_, [&] {
      order(main_, side_);
      add(side_, x, 1);
      order(side_, main_);
      add(side_, x, 1);
    });
  });
  expect_usable(side_);
}

TEST_F(ForkJoin, AnEventFromOutsideIsIsolated) {
  Buffer x = floats(1);
  Event outside = device_->create_event();
  side_.record(outside);
  const std::string text = fault_of(CaptureFault::isolated, [&] {
    capture(main_, [&] {
      add(main_, x, 1, "before");
      main_.wait(outside);
    });
  });
  expect_parts(text, {"Stream::wait", "stream 'main' (", "thread ", "1 node so far", "'before'"});
  expect_usable(main_);
}

TEST_F(ForkJoin, AnEventOfAnEndedRecordingIsRefused) {
  Buffer x = floats(1);
  Event event = device_->create_event();
  capture(main_, [&] {
    add(main_, x, 1);
    main_.record(event);
  });
  fault_of(CaptureFault::captured_event, [&] { event.synchronize(); });
  fault_of(CaptureFault::captured_event, [&] { event.query(); });
  const std::string text = fault_of(CaptureFault::captured_event, [&] { side_.wait(event); });
  expect_parts(text, {"Stream::wait", "stream 'side' (", "stream 'main'", "ended"});
  fault_of(CaptureFault::captured_event, [&] {
    capture(side_, [&] {
      add(side_, x, 1);
      side_.wait(event);
    });
  });
  expect_usable(side_);
  main_.record(event);
  side_.wait(event);
  event.synchronize();
  EXPECT_TRUE(event.query());
}

TEST_F(ForkJoin, AnEventOfALiveRecordingCannotBeAsked) {
  Buffer x = floats(1);
  Event event = device_->create_event();
  const auto with = [&](const std::function<void()>& ask) {
    return fault_of(CaptureFault::captured_event, [&] {
      capture(main_, [&] {
        add(main_, x, 1, "qkv");
        main_.record(event);
        ask();
      });
    });
  };
  expect_parts(with([&] { event.query(); }), {"Event::query", "thread ", "'main'", "'qkv'"});
  expect_parts(with([&] { event.synchronize(); }), {"Event::synchronize"});
  expect_usable(main_);
}

TEST_F(ForkJoin, RecordingsDoNotMerge) {
  Buffer x = floats(1);
  Buffer y = floats(1);
  Event event = device_->create_event();
  std::string text;
  const Graph outer = capture(main_, [&] {
    add(main_, x, 1);
    main_.record(event);
    std::thread([&] {
      text = fault_of(CaptureFault::merged, [&] {
        capture(side_, [&] {
          add(side_, y, 1);
          side_.wait(event);
        });
      });
    }).join();
  });
  expect_parts(text, {"Stream::wait", "stream 'side' (", "stream 'main'", "merged"});
  EXPECT_EQ(outer.node_count(), 1u);
  expect_usable(main_);
  expect_usable(side_);
}

TEST_F(ForkJoin, AnotherThreadCannotJoinARecording) {
  Buffer x = floats(1);
  Event event = device_->create_event();
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    main_.record(event);
    std::thread([&] { fault_of(CaptureFault::wrong_thread, [&] { side_.wait(event); }); }).join();
    EXPECT_FALSE(side_.recording());
  });
  EXPECT_EQ(graph.node_count(), 1u);
  expect_usable(side_);
}

TEST_F(ForkJoin, AJoinedStreamMayWaitForItsOwnEvent) {
  Buffer x = floats(1);
  Buffer y = floats(1);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    order(main_, side_);
    add(side_, y, 1);
    order(side_, side_);
    side_.wait(*events_.back());  // once more changes nothing
    add(side_, y, 1);
    order(side_, main_);
  });
  const std::vector<GraphNode> nodes = graph.nodes();
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[1].dependencies, Dependencies({0}));
  EXPECT_EQ(nodes[2].dependencies, Dependencies({1}));
  graph.instantiate().launch(main_);
  EXPECT_EQ(value_of(y), 3);
}

TEST_F(ForkJoin, ForksOfForksMayJoinTheOriginItself) {
  Buffer x = floats(1);
  Buffer y = floats(0);
  Buffer z = floats(0);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    order(main_, side_);
    scale(side_, y, x, 2);
    order(side_, third_);
    scale(third_, z, y, 10);
    order(third_, main_);  // not by way of the stream that it came from
    order(side_, main_);
    kit_->axpy(main_, data(x), data(z), kCount, 1);
  });
  const std::vector<GraphNode> nodes = graph.nodes();
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[2].dependencies, Dependencies({1}));
  graph.instantiate().launch(main_);
  EXPECT_EQ(value_of(x), 42);
  EXPECT_EQ(value_of(y), 4);
}

TEST_F(ForkJoin, AnEventRecordedTwiceStandsForTheLater) {
  Buffer x = floats(1);
  Buffer y = floats(0);
  Event event = device_->create_event();
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    main_.record(event);
    add(main_, x, 1);
    main_.record(event);
    side_.wait(event);
    scale(side_, y, x, 10);
    order(side_, main_);
  });
  EXPECT_EQ(graph.nodes().at(2).dependencies, Dependencies({1}));
  graph.instantiate().launch(main_);
  EXPECT_EQ(value_of(y), 30);
}

TEST_F(ForkJoin, WorkOnAStreamThatDidNotJoinRunsAtOnceAndIsNotInTheGraph) {
  Buffer x = floats(1);
  Buffer y = floats(1);
  const Graph graph = capture(main_, [&] {
    add(main_, x, 1);
    add(side_, y, 1);
    side_.fill(x.view(), 0);
    EXPECT_FALSE(side_.recording());
    add(main_, x, 1);
  });
  EXPECT_EQ(graph.node_count(), 2u);
  EXPECT_EQ(value_of(y, side_), 2);
  EXPECT_EQ(value_of(x, side_), 0);
  graph.instantiate().launch(main_);
  EXPECT_EQ(value_of(x), 2);
  EXPECT_EQ(value_of(y), 2);
}

TEST_F(ForkJoin, StreamsAndEventsAreUsedAgainAfterEachWayToFail) {
  Buffer x = floats(0);
  Event fork = device_->create_event();
  Event join = device_->create_event();
  Event outside = device_->create_event();
  third_.record(outside);
  const auto forked = [&] {
    add(main_, x, 1);
    main_.record(fork);
    side_.wait(fork);
    add(side_, x, 1);
  };
  const auto joined = [&] {
    side_.record(join);
    main_.wait(join);
  };
  const std::vector<std::pair<CaptureFault, std::function<void()>>> ways = {
      {CaptureFault::unjoined, [] {}},
      {CaptureFault::isolated, [&] { side_.wait(outside); }},
      {CaptureFault::captured_event, [&] { fork.synchronize(); }},
      {CaptureFault::refused, [&] { side_.synchronize(); }},
      {CaptureFault::nested, [&] { capture(third_, [] {}); }},
  };
  for (const auto& [fault, fail] : ways) {
    SCOPED_TRACE(static_cast<int>(fault));
    fault_of(fault, [&] {
      capture(main_, [&] {
        forked();
        fail();
      });
    });
    EXPECT_FALSE(main_.recording());
    EXPECT_FALSE(side_.recording());
    const float before = value_of(x);
    const Graph graph = capture(main_, [&] {
      forked();
      joined();
    });
    EXPECT_EQ(graph.node_count(), 2u);
    EXPECT_EQ(value_of(x), before);
    graph.instantiate().launch(main_);
    EXPECT_EQ(value_of(x), before + 2);
  }
}

TEST_F(ForkJoin, StreamsOfAFailedRecordingForkAgain) {
  Buffer x = floats(1);
  const auto step = [&](bool fail) {
    order(main_, side_);
    add(side_, x, 1);
    if (fail) throw std::runtime_error("stop");
    order(side_, main_);
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(capture(main_, [&] { step(true); }), std::runtime_error);
    EXPECT_FALSE(side_.recording());
  }
  // Roles swapped: what was a joined stream is the origin now.
  capture(side_,
          [&] {
            order(side_, main_);
            add(main_, x, 1);
            order(main_, side_);
          })
      .instantiate()
      .launch(side_);
  EXPECT_EQ(value_of(x, side_), 2);
  capture(main_, [&] { step(false); }).instantiate().launch(main_);
  EXPECT_EQ(value_of(x), 3);
}

}  // namespace
}  // namespace reprise::contract
