// SPDX-License-Identifier: Apache-2.0
// Loops and branches that the device decides (<reprise/control_flow.h>).
#include <stdexcept>

#include <reprise/control_flow.h>

#include "contracts/fixture.h"

namespace reprise::contract {
namespace {

/// The only conditional node of `nodes`.
const GraphNode& conditional_of(const std::vector<GraphNode>& nodes) {
  const GraphNode* found = nullptr;
  for (const GraphNode& node : nodes) {
    if (node.kind != "conditional") continue;
    EXPECT_EQ(found, nullptr) << "a second one";
    found = &node;
  }
  if (found == nullptr) throw std::runtime_error("no conditional node");
  return *found;
}

class ControlFlow : public RecordingTest {
 protected:
  /// An i32 on the device.
  Buffer scalar(std::int32_t value) {
    Buffer buffer = device_->allocate(sizeof value, "condition");
    set(buffer, value);
    return buffer;
  }
  void set(Buffer& buffer, std::int32_t value) {
    buffer.from_host(main_, std::as_bytes(std::span(&value, 1)));
  }
  std::int32_t get(const Buffer& buffer) {
    std::int32_t value = 0;
    buffer.to_host(main_, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  static TensorView condition(const Buffer& buffer) { return buffer.tensor(DType::i32, Shape{1}); }
  static std::int32_t* integer(const Buffer& buffer) {
    return static_cast<std::int32_t*>(buffer.data());
  }
  /// buffer -= 1
  void count_down(Stream& stream, const Buffer& buffer) {
    kit_->add_integer(stream, integer(buffer), -1);
  }
  void loop(const Buffer& left, const std::function<void()>& body, LoopOptions options = {}) {
    while_loop(main_, condition(left), body, options);
  }
  /// Adds 1 to `x` as often as `left` says.
  Graph counting_graph(const Buffer& left, const Buffer& x, LoopOptions options = {}) {
    return capture(main_, [&] {
      loop(
          left,
          [&] {
            add(main_, x, 1);
            count_down(main_, left);
          },
          options);
    });
  }

  Buffer x_ = floats(0);
};

TEST_F(ControlFlow, ALoopRunsAsOftenAsItsConditionSays) {
  Buffer left = scalar(0);
  GraphExec exec = counting_graph(left, x_).instantiate();
  exec.upload(main_);
  EXPECT_EQ(value_of(x_), 0) << "recording ran it";
  float sum = 0;
  for (const int times : {0, 1, 1000, 0, 3}) {
    set(left, times);
    exec.launch(main_);
    sum += static_cast<float>(times);
    EXPECT_EQ(value_of(x_), sum) << times;
    EXPECT_EQ(get(left), 0);
  }
}

TEST_F(ControlFlow, ALoopStandsInOrderWithTheWorkAroundIt) {
  Buffer left = scalar(0);
  GraphExec exec = capture(main_, [&] {
                     main_.fill(x_.view(), 0);
                     kit_->add_integer(main_, integer(left), 3);
                     loop(left, [&] {
                       add(main_, x_, 1);
                       count_down(main_, left);
                     });
                     scale(main_, x_, x_, 10);
                   }).instantiate();
  for (int replay = 0; replay < 3; ++replay) {
    exec.launch(main_);
    EXPECT_EQ(value_of(x_), 30);
  }
}

TEST_F(ControlFlow, ACapEndsALoopAndLeavesItsConditionNonZero) {
  Buffer left = scalar(10);
  GraphExec exec = counting_graph(left, x_, {.max_iterations = 4}).instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x_), 4);
  EXPECT_EQ(get(left), 6);
  exec.launch(main_);  // each run counts anew
  EXPECT_EQ(get(left), 2);
  exec.launch(main_);
  EXPECT_EQ(value_of(x_), 10);
  EXPECT_EQ(get(left), 0);
}

TEST_F(ControlFlow, LoopsNest) {
  Buffer outer = scalar(3);
  Buffer inner = scalar(0);
  const Graph graph = capture(main_, [&] {
    loop(outer, [&] {
      kit_->add_integer(main_, integer(inner), 2);
      loop(inner, [&] {
        add(main_, x_, 1);
        count_down(main_, inner);
      });
      count_down(main_, outer);
    });
  });
  const std::vector<GraphNode> nodes = graph.nodes();
  const GraphNode& node = conditional_of(conditional_of(nodes).bodies.at(0));
  EXPECT_EQ(node.function, "while");
  GraphExec exec = graph.instantiate();
  for (const float expected : {6.0F, 12.0F}) {
    set(outer, 3);
    exec.launch(main_);
    EXPECT_EQ(value_of(x_), expected);
  }
}

TEST_F(ControlFlow, ABranchInALoop) {
  Buffer left = scalar(4);
  Buffer flag = scalar(1);
  Buffer y = floats(0, "y");
  GraphExec exec = capture(main_, [&] {
                     loop(left, [&] {
                       if_else(main_, condition(flag), [&] {
                         add(main_, x_, 1);
                         count_down(main_, flag);
                       });
                       add(main_, y, 1);
                       count_down(main_, left);
                     });
                   }).instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x_), 1);
  EXPECT_EQ(value_of(y), 4);
}

TEST_F(ControlFlow, ABranchTakesOneOfItsSides) {
  Buffer flag = scalar(0);
  GraphExec exec =
      capture(main_, [&] {
        if_else(
            main_, condition(flag), [&] { add(main_, x_, 1); }, [&] { add(main_, x_, 100); });
      }).instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x_), 100);
  set(flag, -7);
  exec.launch(main_);
  EXPECT_EQ(value_of(x_), 101);
}

TEST_F(ControlFlow, ABranchWithoutOtherwiseDoesNothing) {
  Buffer flag = scalar(0);
  GraphExec exec = capture(main_, [&] {
                     if_else(main_, condition(flag), [&] { add(main_, x_, 1); });
                   }).instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x_), 0);
  set(flag, 1);
  exec.launch(main_);
  EXPECT_EQ(value_of(x_), 1);
}

TEST_F(ControlFlow, OutsideARecordingALoopRunsAtOnce) {
  Buffer left = scalar(5);
  add(main_, x_, 10);
  int calls = 0;
  loop(left, [&] {
    ++calls;
    EXPECT_TRUE(main_.recording());
    add(main_, x_, 1);
    count_down(main_, left);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(main_.query());
  EXPECT_EQ(value_of(x_), 15);
  if_else(
      main_, condition(left), [&] { add(main_, x_, 1); }, [&] { add(main_, x_, 2); });
  EXPECT_EQ(value_of(x_), 17);
  expect_usable(main_);
}

TEST_F(ControlFlow, ALoopIsOneNodeWithItsBody) {
  Buffer left = scalar(0);
  const Graph graph = capture(main_, [&] {
    add(main_, x_, 1, "before");
    const LabelScope scope(main_, "decode");
    loop(left,
         [&] {
           const LabelScope step(main_, "step");
           add(main_, x_, 1, "inside");
           main_.fill(x_.view(), 0);
         },
         {.label = "steps"});
    add(main_, x_, 1, "after");
  });
  const std::vector<GraphNode> nodes = graph.nodes();
  const GraphNode& node = conditional_of(nodes);
  EXPECT_EQ(node.label, "decode / steps");
  EXPECT_EQ(node.function, "while");
  EXPECT_EQ(nodes.back().label, "decode / after");
  EXPECT_EQ(nodes.at(nodes.back().dependencies.at(0)).kind, "conditional");
  ASSERT_EQ(node.bodies.size(), 1u);
  const std::vector<GraphNode>& body = node.bodies[0];
  ASSERT_GE(body.size(), 2u);
  EXPECT_EQ(body[0].label, "decode / step / inside");
  EXPECT_EQ(body[1].label, "decode / step");
  EXPECT_EQ(body[1].kind, "fill");
  EXPECT_EQ(body[1].dependencies, std::vector<std::uint32_t>({0}));
}

TEST_F(ControlFlow, TheSignatureCoversTheBody) {
  Buffer left = scalar(0);
  const auto with = [&](int adds) {
    return capture(main_, [&] {
      loop(left, [&] {
        for (int i = 0; i < adds; ++i) add(main_, x_, 1);
        count_down(main_, left);
      });
    });
  };
  EXPECT_EQ(with(1).signature(), with(1).signature());
  EXPECT_NE(with(1).signature(), with(2).signature());
  const Graph branch = capture(main_, [&] {
    if_else(main_, condition(left), [&] {
      add(main_, x_, 1);
      count_down(main_, left);
    });
  });
  EXPECT_NE(with(1).signature(), branch.signature());
}

TEST_F(ControlFlow, AnExecutableIsUpdatedOrSaysThatItWasNot) {
  Buffer left = scalar(2);
  Buffer y = floats(0, "y");
  GraphExec exec = counting_graph(left, x_).instantiate();
  const Graph onto_y = counting_graph(left, y);
  const UpdateResult result = exec.update(onto_y);
  exec.launch(main_);
  const bool updated = result == UpdateResult::updated;
  EXPECT_EQ(value_of(x_), updated ? 0 : 2);
  EXPECT_EQ(value_of(y), updated ? 2 : 0);
  const Graph other = capture(main_, [&] { loop(left, [&] { count_down(main_, left); }); });
  EXPECT_EQ(exec.update(other), UpdateResult::topology_differs);
}

TEST_F(ControlFlow, AGraphWithALoopHasOneExecutableAtATime) {
  Buffer left = scalar(1);
  const Graph graph = counting_graph(left, x_);
  {
    GraphExec first = graph.instantiate();
    try {
      graph.instantiate();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const UsageError& error) {
      expect_parts(error.what(), {"Graph::instantiate", "one at a time", "record it again"});
    }
    first.launch(main_);
    EXPECT_EQ(value_of(x_), 1);
  }
  GraphExec next = graph.instantiate();
  GraphExec twin = counting_graph(left, x_).instantiate();
  set(left, 2);
  next.launch(main_);
  EXPECT_EQ(value_of(x_), 3);
  set(left, 3);
  twin.launch(main_);
  EXPECT_EQ(value_of(x_), 6);
}

TEST_F(ControlFlow, AnExecutableDestroyedDuringItsReplayFinishesIt) {
  Buffer left = scalar(1000);
  Gate gate(*kit_, *device_, main_);
  {
    GraphExec exec = counting_graph(left, x_).instantiate();
    exec.launch(main_);
    gate.open();
  }
  EXPECT_EQ(value_of(x_), 1000);
}

TEST_F(ControlFlow, StreamsForkAndJoinInsideABody) {
  Buffer left = scalar(3);
  Buffer y = floats(0, "y");
  Event fork = device_->create_event();
  Event join = device_->create_event();
  GraphExec exec = capture(main_, [&] {
                     loop(left, [&] {
                       main_.record(fork);
                       side_.wait(fork);
                       add(side_, y, 1);
                       add(main_, x_, 2);
                       side_.record(join);
                       main_.wait(join);
                       count_down(main_, left);
                     });
                     EXPECT_FALSE(side_.recording());
                   }).instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x_), 6);
  EXPECT_EQ(value_of(y), 3);
  expect_usable(side_);
}

TEST_F(ControlFlow, ALoopOnAJoinedStream) {
  Buffer left = scalar(3);
  Event fork = device_->create_event();
  Event join = device_->create_event();
  GraphExec exec = capture(main_, [&] {
                     main_.record(fork);
                     side_.wait(fork);
                     while_loop(side_, condition(left), [&] {
                       add(side_, x_, 1);
                       count_down(side_, left);
                     });
                     side_.record(join);
                     main_.wait(join);
                     add(main_, x_, 100);
                   }).instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x_), 103);
  expect_usable(side_);
}

TEST_F(ControlFlow, AnExceptionInABodyDiscardsTheRecordingEvenWhenSwallowed) {
  Buffer left = scalar(1);
  const auto body = [&] {
    loop(left, [&] {
      add(main_, x_, 1);
      throw std::runtime_error("stop");
    });
  };
  EXPECT_THROW(capture(main_, body), std::runtime_error);
  expect_usable(main_);
  const std::string text = fault_of(CaptureFault::refused, [&] {
    capture(main_, [&] {
      EXPECT_THROW(body(), std::runtime_error);
      add(main_, x_, 1);
    });
  });
  expect_parts(text, {"while_loop 'while_loop' on stream 'main' (", "'stop'"});
  EXPECT_EQ(value_of(x_), 0);
  expect_usable(main_);
  EXPECT_THROW(body(), std::runtime_error) << "eagerly";
  expect_usable(main_);
}

TEST_F(ControlFlow, AnExceptionInANestedBodyLeavesAllStreamsUsable) {
  Buffer left = scalar(1);
  Event fork = device_->create_event();
  EXPECT_THROW(capture(main_,
                       [&] {
                         loop(left, [&] {
                           add(main_, x_, 1);
                           loop(left, [&] {
                             main_.record(fork);
                             side_.wait(fork);
                             add(side_, x_, 1);
                             throw std::runtime_error("stop");
                           });
                         });
                       }),
               std::runtime_error);
  expect_usable(main_);
  expect_usable(side_);
}

TEST_F(ControlFlow, WhatARecordingRefusesABodyRefuses) {
  Buffer left = scalar(1);
  const auto in_body = [&](CaptureFault fault, const std::function<void()>& call) {
    const std::string text = fault_of(fault, [&] {
      capture(main_, [&] {
        loop(left, [&] {
          add(main_, x_, 1, "inside");
          call();
        });
      });
    });
    expect_usable(main_);
    expect_usable(side_);
    return text;
  };
  expect_parts(in_body(CaptureFault::refused, [&] { main_.synchronize(); }),
               {"Stream::synchronize on stream 'main' (", "1 node so far, the last one 'inside'"});
  expect_parts(in_body(CaptureFault::refused, [&] { device_->allocate(64, "new"); }),
               {"Device::allocate", "buffer 'new'"});
  expect_parts(in_body(CaptureFault::nested, [&] { capture(side_, [] {}); }), {"'side'"});
  Event event = device_->create_event();
  expect_parts(in_body(CaptureFault::unjoined,
                       [&] {
                         main_.record(event);
                         side_.wait(event);
                         add(side_, x_, 1, "stray");
                       }),
               {"while_loop 'while_loop'", "'side'", "'stray'", "inside the body"});
}

TEST_F(ControlFlow, StreamsAndEventsOfTheRecordingAroundAreRefusedInABody) {
  Buffer left = scalar(1);
  Event fork = device_->create_event();
  const auto in_body = [&](CaptureFault fault, const std::function<void()>& call) {
    const std::string text = fault_of(fault, [&] {
      capture(main_, [&] {
        add(main_, x_, 1);
        main_.record(fork);
        side_.wait(fork);
        loop(left, [&] {
          add(main_, x_, 1);
          call();
        });
      });
    });
    expect_usable(main_);
    expect_usable(side_);
    return text;
  };
  expect_parts(in_body(CaptureFault::refused, [&] { side_.fill(x_.view(), 0); }),
               {"Stream::fill on stream 'side' (", "recording around this body"});
  expect_parts(in_body(CaptureFault::isolated, [&] { main_.wait(fork); }),
               {"Stream::wait on stream 'main' (", "outside of the body", "before the loop"});
}

TEST_F(ControlFlow, AnEmptyBodyIsRefused) {
  Buffer left = scalar(1);
  const std::string text = fault_of(
      CaptureFault::empty, [&] { capture(main_, [&] { loop(left, [] {}, {.label = "steps"}); }); });
  expect_parts(text, {"while_loop 'steps' on stream 'main' (", "a body holds no work"});
  fault_of(CaptureFault::empty, [&] {
    if_else(
        main_, condition(left), [&] { add(main_, x_, 1); }, [] {});
  });
  expect_usable(main_);
}

TEST_F(ControlFlow, BadArgumentsAreRefused) {
  Buffer left = scalar(1);
  const Buffer pinned = device_->allocate_pinned(4, "pinned");
  const auto refused = [&](const TensorView& view, const std::string& part) {
    try {
      while_loop(main_, view, [&] { add(main_, x_, 1); });
      ADD_FAILURE() << "nothing was thrown: " << part;
    } catch (const UsageError& error) {
      expect_parts(error.what(), {"while_loop 'while_loop' on stream 'main' (", part});
    }
  };
  refused(left.tensor(DType::f32, Shape{1}), "is of type f32");
  refused(x_.tensor(DType::i32, Shape{2}), "has 2 elements");
  refused(pinned.tensor(DType::i32, Shape{1}), "lies in host memory");
  refused({.data = nullptr, .dtype = DType::i32, .shape = Shape{1}}, "is null");
  refused({.data = static_cast<std::byte*>(x_.data()) + 1, .dtype = DType::i32, .shape = Shape{1}},
          "is not aligned");
  EXPECT_THROW(loop(left, {}), UsageError);
  EXPECT_THROW(loop(left, [&] { add(main_, x_, 1); }, {.max_iterations = 0}), UsageError);
  EXPECT_THROW(if_else(main_, condition(left), {}), UsageError);
  EXPECT_EQ(value_of(x_), 0);
  expect_usable(main_);
}

TEST_F(ControlFlow, ABodyThatFailsEndsItsLoop) {
  if (!kit_->can_lose_device()) GTEST_SKIP() << "a fault would take the process's context with it";
  Buffer left = scalar(1);
  GraphExec exec = capture(main_, [&] {
                     loop(left, [&] { kit_->lose_device(main_, "broken"); });
                   }).instantiate();
  exec.launch(main_);
  EXPECT_THROW(main_.synchronize(), DeviceError);
}

}  // namespace
}  // namespace reprise::contract
