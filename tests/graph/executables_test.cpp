// SPDX-License-Identifier: Apache-2.0
// Who gets which executable, with graphs that only count: updates, sharing, the bound, graphs with
// conditional nodes, a device that is short of memory, measured bytes.
#include "graph/executables.h"

#include <gtest/gtest.h>

#include <reprise/host.h>

#include "device/backend.h"

namespace reprise {
namespace {

struct Counts {
  int alive = 0;
  int most_alive = 0;
  int room = 100;  ///< executables that the device takes
  bool refuses_updates = false;
};

class FakeExecutable final : public ExecutableGraph {
 public:
  explicit FakeExecutable(Counts& counts) : counts_(counts) {
    if (counts_.alive >= counts_.room) throw OutOfMemory("the device is full");
    counts_.most_alive = std::max(counts_.most_alive, ++counts_.alive);
  }
  ~FakeExecutable() override { --counts_.alive; }
  void upload(StreamState&) override {}
  void launch(StreamState&) override {}
  UpdateOutcome update(const RecordedGraph&) override {
    return counts_.refuses_updates ? UpdateOutcome::refused : UpdateOutcome::updated;
  }
  void wait_idle() noexcept override {}

 private:
  Counts& counts_;
};

class FakeGraph final : public RecordedGraph {
 public:
  FakeGraph(Counts& counts, std::string function, std::size_t nodes, NodeKind kind)
      : counts_(counts) {
    NodeInfo node;
    node.kind = kind;
    node.function = std::move(function);
    nodes_.assign(nodes, node);
  }
  std::span<const NodeInfo> nodes() const override { return nodes_; }
  std::shared_ptr<ExecutableGraph> instantiate() const override {
    return std::make_shared<FakeExecutable>(counts_);
  }

 private:
  Counts& counts_;
  std::vector<NodeInfo> nodes_;
};

class ExecutablesTest : public ::testing::Test {
 protected:
  Graph graph(std::string function, std::size_t nodes = 1, NodeKind kind = NodeKind::kernel) {
    return Graph(device_, std::make_shared<FakeGraph>(counts_, std::move(function), nodes, kind));
  }
  static Executables executables(ExecutableOptions options) { return Executables(options); }
  void note(std::string line) {
    if (!line.empty()) notes_.push_back(std::move(line));
  }
  /// A replay; whether it had to wait.
  bool waits(Executables& executables, Launchable& launchable) {
    const bool ready = executables.use(launchable);
    if (!ready) note(executables.make_ready(launchable, stream_));
    EXPECT_TRUE(launchable.slot->exec.has_value());
    EXPECT_EQ(launchable.slot->holds, launchable.number);
    return !ready;
  }

  std::shared_ptr<Device> device_ = host::open({.threads = 1});
  Stream stream_ = device_->create_stream("s");
  Counts counts_;
  std::vector<std::string> notes_;
};

TEST_F(ExecutablesTest, AnEqualStructureIsUpdatedAndAnotherIsMadeAnew) {
  Executables all = executables({});
  Launchable first = all.adopt(graph("f"), nullptr, stream_);
  Launchable again = all.adopt(graph("f"), std::move(first.slot), stream_);
  EXPECT_FALSE(waits(all, again));
  EXPECT_EQ(all.counters().updated, 1u);
  EXPECT_EQ(all.counters().instantiated, 1u);
  Launchable other = all.adopt(graph("g"), std::move(again.slot), stream_);
  EXPECT_EQ(all.counters().instantiated, 2u);
  counts_.refuses_updates = true;  // attributes that only the driver sees
  Launchable refused = all.adopt(graph("g"), std::move(other.slot), stream_);
  EXPECT_EQ(all.counters().updated, 1u);
  EXPECT_EQ(all.counters().instantiated, 3u);
  EXPECT_EQ(all.counters().live, 1u);
  EXPECT_EQ(counts_.most_alive, 1);  // the old one goes before the new one comes
}

TEST_F(ExecutablesTest, OneThatOthersShareIsNotUpdatedForARepeatedRecording) {
  Executables all = executables({.share = true});
  Launchable a = all.adopt(graph("f"), nullptr, stream_);
  Launchable b = all.adopt(graph("f"), nullptr, stream_);
  EXPECT_EQ(all.counters().shared, 1u);
  Launchable c = all.adopt(graph("g"), std::move(b.slot), stream_);
  EXPECT_EQ(all.counters().updated, 0u);
  EXPECT_EQ(all.counters().live, 2u);
  EXPECT_TRUE(waits(all, a));  // b was the last in it
  EXPECT_FALSE(waits(all, c));
  Launchable d = all.adopt(graph("f"), nullptr, stream_);
  Launchable e = all.adopt(graph("f"), std::move(d.slot), stream_);
  EXPECT_EQ(e.slot, a.slot);
  EXPECT_EQ(all.counters().updated, 0u);
  EXPECT_EQ(all.counters().shared, 3u);
}

TEST_F(ExecutablesTest, SharingRePointsAndNoticesThrashingOnce) {
  Executables all = executables({.share = true});
  Launchable a = all.adopt(graph("f"), nullptr, stream_);
  Launchable b = all.adopt(graph("f"), nullptr, stream_);
  Launchable alone = all.adopt(graph("g"), nullptr, stream_);
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(waits(all, alone));
  for (int i = 0; i < 32; ++i) EXPECT_TRUE(waits(all, i % 2 == 0 ? a : b));
  EXPECT_EQ(all.counters().thrashed, 0u);  // half of the latest 64
  EXPECT_TRUE(waits(all, a));
  EXPECT_TRUE(waits(all, b));
  EXPECT_EQ(all.counters().thrashed, 2u);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("33 of the latest 64"), std::string::npos) << notes_[0];
  EXPECT_NE(notes_[0].find("share_executables"), std::string::npos) << notes_[0];
  EXPECT_EQ(all.counters().switched, 34u);
  EXPECT_EQ(counts_.most_alive, 2);
}

TEST_F(ExecutablesTest, OneThatTheDriverDoesNotTakeGetsItsOwn) {
  Executables all = executables({.share = true});
  Launchable a = all.adopt(graph("f"), nullptr, stream_);
  Launchable b = all.adopt(graph("f"), nullptr, stream_);
  counts_.refuses_updates = true;
  EXPECT_TRUE(waits(all, a));
  EXPECT_EQ(counts_.alive, 2);
  EXPECT_FALSE(waits(all, b));
  Launchable c = all.adopt(graph("f"), nullptr, stream_);
  EXPECT_EQ(counts_.alive, 3);
  EXPECT_FALSE(waits(all, a));
}

TEST_F(ExecutablesTest, TheBoundDropsTheOneNotUsedForLongest) {
  Executables all = executables({.most = 2});
  Launchable a = all.adopt(graph("a"), nullptr, stream_);
  Launchable b = all.adopt(graph("b"), nullptr, stream_);
  Launchable c = all.adopt(graph("c"), nullptr, stream_);  // waits for its first use
  EXPECT_EQ(counts_.alive, 2);
  EXPECT_FALSE(waits(all, a));
  EXPECT_TRUE(waits(all, c));
  EXPECT_FALSE(waits(all, a));
  EXPECT_TRUE(waits(all, b));
  EXPECT_FALSE(waits(all, a));
  EXPECT_TRUE(waits(all, c));
  EXPECT_EQ(all.counters().dropped, 3u);
  EXPECT_EQ(all.counters().instantiated, 5u);
  EXPECT_EQ(counts_.most_alive, 2);
  for (int i = 0; i < 100; ++i) waits(all, i % 3 == 0 ? a : i % 3 == 1 ? b : c);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("bound of 2"), std::string::npos) << notes_[0];
}

TEST_F(ExecutablesTest, ConditionalNodesHaveOneExecutableAndShareNone) {
  Executables all = executables({.share = true, .most = 1});
  Launchable a = all.adopt(graph("w", 1, NodeKind::conditional), nullptr, stream_);
  Launchable b = all.adopt(graph("w", 1, NodeKind::conditional), nullptr, stream_);
  EXPECT_NE(a.slot, b.slot);
  EXPECT_TRUE(waits(all, b));
  EXPECT_TRUE(waits(all, a));
  EXPECT_EQ(counts_.most_alive, 1);
  Launchable again = all.adopt(graph("w", 1, NodeKind::conditional), std::move(a.slot), stream_);
  EXPECT_EQ(all.counters().updated, 0u);
  EXPECT_EQ(all.counters().shared, 0u);
}

TEST_F(ExecutablesTest, AFullDeviceGivesUpOthersOnlyBelowABound) {
  counts_.room = 2;
  {
    Executables unbounded = executables({});
    Launchable a = unbounded.adopt(graph("a"), nullptr, stream_);
    Launchable b = unbounded.adopt(graph("b"), nullptr, stream_);
    EXPECT_THROW(unbounded.adopt(graph("c"), nullptr, stream_), OutOfMemory);
    EXPECT_FALSE(waits(unbounded, a));
    EXPECT_FALSE(waits(unbounded, b));
  }
  EXPECT_EQ(counts_.alive, 0);
  Executables bounded = executables({.most = 3});
  Launchable a = bounded.adopt(graph("a"), nullptr, stream_);
  Launchable b = bounded.adopt(graph("b"), nullptr, stream_);
  Launchable c = bounded.adopt(graph("c"), nullptr, stream_);
  EXPECT_EQ(bounded.counters().dropped, 1u);
  EXPECT_FALSE(waits(bounded, b));
  counts_.room = 0;
  EXPECT_FALSE(bounded.use(a));
  EXPECT_THROW(bounded.make_ready(a, stream_), OutOfMemory);
  EXPECT_FALSE(a.slot->exec.has_value());
  counts_.room = 3;
  EXPECT_TRUE(waits(bounded, a));
  EXPECT_TRUE(waits(bounded, c));
}

TEST_F(ExecutablesTest, MeasuredBytesAreTheNodesShare) {
  Executables all = executables({.share = true});
  Launchable small = all.adopt(graph("a", 10), nullptr, stream_);
  EXPECT_EQ(all.bytes_of(small), 0u);
  Launchable large = all.adopt(graph("b", 30), nullptr, stream_);
  all.measured(std::size_t{4} << 20);
  EXPECT_EQ(all.bytes_of(small), std::size_t{1} << 20);
  EXPECT_EQ(all.bytes_of(large), std::size_t{3} << 20);
  Launchable same = all.adopt(graph("b", 30), nullptr, stream_);
  all.measured(0);
  EXPECT_EQ(all.bytes_of(large), 0u);  // the other one has it now
  EXPECT_EQ(all.bytes_of(same), std::size_t{3} << 20);
  all.forget_measure();
  EXPECT_EQ(all.bytes_of(same), 0u);
}

}  // namespace
}  // namespace reprise
