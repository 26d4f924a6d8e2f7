// SPDX-License-Identifier: Apache-2.0
// Calls that may not stand inside a recording are refused at the call, with a text that helps, and
// leave every stream usable (DESIGN §4.3).
#include <thread>

#include "contracts/fixture.h"

namespace reprise::contract {
namespace {

class Refusal : public RecordingTest {
 protected:
  Buffer x_ = floats(1, "x");
  Buffer y_ = floats(1, "y");
  Buffer pinned_ = device_->allocate_pinned(kCount * sizeof(float), "pinned");
  Event event_ = device_->create_event();
  std::vector<float> host_ = std::vector<float>(kCount, 7.0f);
  GraphExec exec_ = capture(main_, [this] { add(main_, y_, 1); }).instantiate();

  std::span<std::byte> host_bytes() { return std::as_writable_bytes(std::span(host_)); }

 public:
  struct Case {
    const char* call;    // as the message spells it
    const char* target;  // what the message names
    void (*run)(Refusal&);
  };
  static const std::vector<Case>& cases();

 protected:
  /// Records one node "layer 0 / qkv", then calls `refused`.
  void record_with(const std::function<void()>& refused) {
    capture(main_, [&] {
      const LabelScope layer(main_, "layer 0");
      add(main_, x_, 1, "qkv");
      refused();
    });
  }
};

const std::vector<Refusal::Case>& Refusal::cases() {
  static const std::vector<Case> all = {
      {"Stream::synchronize", "stream 'main' (", [](Refusal& t) { t.main_.synchronize(); }},
      {"Stream::synchronize", "stream 'side' (", [](Refusal& t) { t.side_.synchronize(); }},
      {"Stream::query", "stream 'main' (", [](Refusal& t) { t.main_.query(); }},
      {"Stream::query", "stream 'side' (", [](Refusal& t) { t.side_.query(); }},
      {"Device::synchronize", "device ", [](Refusal& t) { t.device_->synchronize(); }},
      {"Buffer::to_host", "buffer 'x' by stream 'main' (",
       [](Refusal& t) { t.x_.to_host(t.main_, t.host_bytes()); }},
      {"Buffer::to_host", "buffer 'x' by stream 'side' (",
       [](Refusal& t) { t.x_.to_host(t.side_, t.host_bytes()); }},
      {"Buffer::from_host", "buffer 'x' by stream 'main' (",
       [](Refusal& t) { t.x_.from_host(t.main_, t.host_bytes()); }},
      {"Stream::copy with pageable memory", "stream 'main' (",
       [](Refusal& t) { t.main_.copy(t.x_.view(), pageable(std::span(t.host_))); }},
      {"Stream::copy with pageable memory", "stream 'main' (",
       [](Refusal& t) { t.main_.copy(pageable(std::span(t.host_)), t.x_.view()); }},
      {"Stream::copy with pageable memory", "stream 'side' (",
       [](Refusal& t) { t.side_.copy(t.x_.view(), pageable(std::span(t.host_))); }},
      {"Device::allocate", "buffer 'new' of 64 bytes",
       [](Refusal& t) { t.device_->allocate(64, "new"); }},
      {"Device::allocate_pinned", "buffer 'new' of 64 bytes",
       [](Refusal& t) { t.device_->allocate_pinned(64, "new"); }},
      {"Stream::fill", "stream 'default' (",
       [](Refusal& t) { t.device_->default_stream().fill(t.x_.view(), 0); }},
      {"Stream::copy", "stream 'default' (",
       [](Refusal& t) { t.device_->default_stream().copy(t.x_.view(), t.y_.view()); }},
      {"", "stream 'default' (", [](Refusal& t) { t.add(t.device_->default_stream(), t.x_, 1); }},
      {"Stream::record", "stream 'default' (",
       [](Refusal& t) { t.device_->default_stream().record(t.event_); }},
      {"Stream::wait", "stream 'default' (",
       [](Refusal& t) { t.device_->default_stream().wait(t.event_); }},
      {"Event::synchronize", "event", [](Refusal& t) { t.event_.synchronize(); }},
      {"Event::query", "event", [](Refusal& t) { t.event_.query(); }},
      {"GraphExec::launch", "stream 'main' (", [](Refusal& t) { t.exec_.launch(t.main_); }},
      {"GraphExec::upload", "stream 'main' (", [](Refusal& t) { t.exec_.upload(t.main_); }},
  };
  return all;
}

TEST_F(Refusal, IsMadeAtTheCallAndNamesEverything) {
  for (const Case& item : cases()) {
    SCOPED_TRACE(std::string(item.call) + " on " + item.target);
    side_.record(event_);
    bool after = false;
    const std::string text = fault_of(CaptureFault::refused, [&] {
      record_with([&] {
        item.run(*this);
        after = true;
      });
    });
    EXPECT_FALSE(after);
    expect_parts(text, {item.call, item.target, device_->label(), " from thread ",
                        "stream 'main' is recording (recording ",
                        "1 node so far, the last one 'layer 0 / qkv'); "});
    EXPECT_EQ(value_of(x_), 1) << "something ran";
    expect_usable(main_);
    expect_usable(side_);
  }
}

TEST_F(Refusal, SpoilsTheRecordingEvenWhenSwallowed) {
  for (const Case& item : cases()) {
    SCOPED_TRACE(std::string(item.call) + " on " + item.target);
    side_.record(event_);
    std::string first;
    const std::string text = fault_of(CaptureFault::refused, [&] {
      record_with([&] {
        first = fault_of(CaptureFault::refused, [&] { item.run(*this); });
        try {
          main_.query();  // a second refusal does not hide the first
        } catch (const CaptureError&) {
        }
      });
    });
    EXPECT_EQ(text, first);
    expect_usable(main_);
  }
}

TEST_F(Refusal, OnAJoinedStreamToo) {
  const std::string text = fault_of(CaptureFault::refused, [&] {
    record_with([&] {
      main_.record(event_);
      side_.wait(event_);
      side_.synchronize();
    });
  });
  expect_parts(text, {"Stream::synchronize on stream 'side' (", "stream 'main' is recording"});
  expect_usable(main_);
  expect_usable(side_);
}

TEST_F(Refusal, InsideNothingIsRefusedOutsideARecording) {
  side_.record(event_);
  for (const Case& item : cases()) {
    SCOPED_TRACE(std::string(item.call) + " on " + item.target);
    EXPECT_NO_THROW(item.run(*this));
  }
}

/// Calls of another thread while `main` records; the recording must survive each.
struct ForeignCase {
  const char* call;
  CaptureFault fault;
  std::function<void()> run;
};

TEST_F(Refusal, AnotherThreadsCallLeavesTheRecordingAlone) {
  const std::vector<ForeignCase> foreign = {
      {"", CaptureFault::wrong_thread, [&] { add(main_, y_, 1); }},
      {"Stream::fill", CaptureFault::wrong_thread, [&] { main_.fill(y_.view(), 0); }},
      {"Stream::copy", CaptureFault::wrong_thread, [&] { main_.copy(y_.view(), x_.view()); }},
      {"Stream::record", CaptureFault::wrong_thread, [&] { main_.record(event_); }},
      {"Stream::wait", CaptureFault::wrong_thread, [&] { main_.wait(event_); }},
      {"Stream::synchronize", CaptureFault::refused, [&] { main_.synchronize(); }},
      {"Stream::query", CaptureFault::refused, [&] { main_.query(); }},
      {"Buffer::to_host", CaptureFault::refused, [&] { y_.to_host(main_, host_bytes()); }},
      {"Buffer::from_host", CaptureFault::refused, [&] { y_.from_host(main_, host_bytes()); }},
      {"GraphExec::launch", CaptureFault::refused, [&] { exec_.launch(main_); }},
      {"capture", CaptureFault::nested, [&] { capture(main_, [] {}); }},
  };
  const Graph graph = capture(main_, [&] {
    add(main_, x_, 1, "qkv");
    std::thread([&] {
      for (const ForeignCase& item : foreign) {
        SCOPED_TRACE(item.call);
        const std::string text = fault_of(item.fault, item.run);
        expect_parts(text, {item.call, "stream 'main' (", " from thread ", "'qkv'"});
      }
    }).join();
    add(main_, x_, 1);
  });
  EXPECT_EQ(graph.node_count(), 2u);
  graph.instantiate().launch(main_);
  EXPECT_EQ(value_of(x_), 3);
  EXPECT_EQ(value_of(y_), 1);
}

TEST_F(Refusal, AnotherThreadMayDoEverythingElse) {
  const Graph graph = capture(main_, [&] {
    add(main_, x_, 1);
    std::thread([&] {
      Buffer own = floats_on(side_, 5);
      add(side_, own, 1);
      EXPECT_EQ(value_of(own, side_), 6);
      device_->default_stream().fill(own.view(), 0);
      device_->default_stream().synchronize();
      side_.record(event_);
      event_.synchronize();
      exec_.launch(side_);
      device_->synchronize();  // waits for the streams that do not record
    }).join();
    add(main_, x_, 1);
  });
  EXPECT_EQ(value_of(x_), 1);
  EXPECT_EQ(value_of(y_), 2);
  graph.instantiate().launch(main_);
  EXPECT_EQ(value_of(x_), 3);
}

TEST_F(Refusal, ABadCopyIsNoFaultOfTheRecording) {
  const Graph graph = capture(main_, [&] {
    add(main_, x_, 1);
    EXPECT_THROW(main_.copy(x_.view(0, 4), y_.view()), UsageError);
    EXPECT_THROW(main_.fill({nullptr, 4, MemorySpace::device}, 0), UsageError);
  });
  EXPECT_EQ(graph.node_count(), 1u);
}

}  // namespace
}  // namespace reprise::contract
