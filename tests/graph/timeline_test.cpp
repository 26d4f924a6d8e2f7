// SPDX-License-Identifier: Apache-2.0
// make_timeline(): stamps by hand, so that all it says is known; stamps that the device leaves
// alone; what a debug replay says of the node that failed.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <reprise/debug_replay.h>
#include <reprise/error.h>
#include <reprise/host.h>
#include <reprise/timeline.h>

#include "device/backend.h"
#include "graph/stamped_exec.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using Stamps = std::vector<std::uint64_t>;

std::vector<GraphNode> nodes_after(const std::vector<std::vector<std::uint32_t>>& dependencies) {
  std::vector<GraphNode> nodes;
  for (const auto& before : dependencies) {
    nodes.push_back({.kind = "kernel", .label = "", .function = "", .dependencies = before});
  }
  return nodes;
}

/// Microseconds after the beginning; starts unknown.
Stamps ending_at(const std::vector<double>& ends, std::uint64_t begin = 5'000'000) {
  Stamps stamps{begin};
  for (const double end : ends) {
    stamps.push_back(0);
    stamps.push_back(begin + static_cast<std::uint64_t>(1000 * end));
  }
  return stamps;
}

std::vector<std::size_t> lanes_of(const Timeline& timeline) {
  std::vector<std::size_t> lanes;
  for (const NodeTime& node : timeline.nodes) lanes.push_back(node.lane);
  return lanes;
}

// 0 ─┬─ 1 ────┬─ 4
//    └─ 2 ─ 3 ┘
const std::vector<GraphNode> kForked = nodes_after({{}, {0}, {0}, {2}, {1, 3}});

TEST(MakeTimeline, AChainIsOneLaneWhoseDurationsAreIntervals) {
  const Timeline timeline =
      make_timeline(nodes_after({{}, {0}, {1}}), std::vector<Stamps>{ending_at({2, 5, 11})});
  EXPECT_EQ(timeline.lanes, 1u);
  EXPECT_EQ(timeline.shown_us, 11);
  const std::vector<double> durations{2, 3, 6};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(timeline.nodes[i].median_us, durations[i]);
    EXPECT_DOUBLE_EQ(timeline.nodes[i].interval_us, durations[i]);
    EXPECT_EQ(timeline.nodes[i].beside_us, 0);
    EXPECT_THAT(timeline.nodes[i].beside, ElementsAre());
  }
  EXPECT_EQ(timeline.overlap_us, 0);
  EXPECT_THAT(timeline.critical_path, ElementsAre(0u, 1u, 2u));
}

TEST(MakeTimeline, BranchesOverlapAndIntervalsStillAddUp) {
  const Timeline timeline =
      make_timeline(kForked, std::vector<Stamps>{ending_at({10, 40, 20, 50, 60})});
  EXPECT_THAT(lanes_of(timeline), ElementsAre(0, 0, 1, 1, 0));
  EXPECT_THAT(timeline.nodes[1].beside, ElementsAre(2u, 3u));
  EXPECT_DOUBLE_EQ(timeline.nodes[1].beside_us, 30);
  EXPECT_THAT(timeline.nodes[3].beside, ElementsAre(1u));
  EXPECT_DOUBLE_EQ(timeline.nodes[3].beside_us, 20);  // from 20 to 40 of its 20 to 50
  EXPECT_THAT(timeline.nodes[4].beside, ElementsAre());
  EXPECT_DOUBLE_EQ(timeline.overlap_us, 30);
  // Ends: 10, 20, 40, 50, 60.
  const std::vector<double> intervals{10, 20, 10, 10, 10};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_DOUBLE_EQ(timeline.nodes[i].interval_us, intervals[i]) << i;
  }
  EXPECT_THAT(timeline.critical_path, ElementsAre(0u, 2u, 3u, 4u));
}

TEST(MakeTimeline, AKnownStartCounts) {
  Stamps stamps = ending_at({10, 40, 50, 60, 70});
  stamps[1 + 2 * 2] = stamps[0] + 40'000;  // node 2 could have begun at 10
  const Timeline timeline = make_timeline(kForked, std::vector<Stamps>{stamps});
  EXPECT_DOUBLE_EQ(timeline.nodes[2].start_us, 40);
  EXPECT_DOUBLE_EQ(timeline.nodes[2].median_us, 10);
  EXPECT_EQ(timeline.overlap_us, 0);
}

TEST(MakeTimeline, ShowsTheReplayOfMedianLengthAndTheMediansOfAll) {
  const Timeline timeline = make_timeline(
      nodes_after({{}, {0}}),
      std::vector<Stamps>{ending_at({9, 30}), ending_at({1, 10}, 77), ending_at({5, 20}, 1)});
  EXPECT_THAT(timeline.stamped.microseconds, ElementsAre(30, 10, 20));
  EXPECT_EQ(timeline.shown_us, 20);
  EXPECT_EQ(timeline.nodes[0].end_us, 5);
  EXPECT_DOUBLE_EQ(timeline.nodes[0].median_us, 5);
  EXPECT_DOUBLE_EQ(timeline.nodes[0].p99_us, 9);
  EXPECT_DOUBLE_EQ(timeline.nodes[1].median_us, 15);
}

TEST(MakeTimeline, AClockInStepsMakesNoNegativeTime) {
  // Node 1 ends "before" the node it comes after, node 0 before the beginning.
  Stamps stamps = ending_at({4, 3});
  const Timeline timeline = make_timeline(nodes_after({{}, {0}}), std::vector<Stamps>{stamps});
  EXPECT_EQ(timeline.nodes[1].start_us, 4);
  EXPECT_EQ(timeline.nodes[1].end_us, 4);
  stamps[2] = stamps[0] - 1000;
  EXPECT_EQ(make_timeline(nodes_after({{}, {0}}), std::vector<Stamps>{stamps}).nodes[0].end_us, 0);
}

TEST(MakeTimeline, ALaneIsUsedAgainOnlyBehindAllOfItsWork) {
  // Two branches join; a third comes behind the join, a fourth behind the first node only.
  const Timeline timeline = make_timeline(nodes_after({{}, {0}, {0}, {1, 2}, {3}, {3}, {0}}),
                                          std::vector<Stamps>{ending_at({1, 2, 3, 4, 5, 6, 7})});
  EXPECT_THAT(lanes_of(timeline), ElementsAre(0, 0, 1, 0, 0, 1, 2));
  EXPECT_EQ(timeline.lanes, 3u);
}

TEST(MakeTimeline, RefusesTooFewStamps) {
  EXPECT_THROW(make_timeline(kForked, {}), UsageError);
  EXPECT_THROW(make_timeline(kForked, std::vector<Stamps>{ending_at({1, 2})}), UsageError);
  EXPECT_EQ(make_timeline({}, std::vector<Stamps>{Stamps{3}}).shown_us, 0);
}

/// Of one node; its launches write no stamp at all, as those of CUDA write no starts.
class SilentGraph final : public RecordedGraph {
 public:
  std::span<const NodeInfo> nodes() const override { return nodes_; }
  std::shared_ptr<ExecutableGraph> instantiate() const override { return nullptr; }
  std::shared_ptr<ExecutableGraph> instantiate_stamped(std::uint64_t*) const override {
    return std::make_shared<Executable>();
  }

 private:
  class Executable final : public ExecutableGraph {
   public:
    void upload(StreamState&) override {}
    void launch(StreamState&) override {}
    UpdateOutcome update(const RecordedGraph&) override { return UpdateOutcome::refused; }
    void wait_idle() noexcept override {}
  };
  std::vector<NodeInfo> nodes_ = std::vector<NodeInfo>(1);
};

TEST(StampedExec, WhatTheDeviceDoesNotWriteReadsAsZero) {
  const auto device = host::open({.threads = 1});
  Stream stream = device->create_stream("s");
  const Graph graph(device, std::make_shared<SilentGraph>());
  StampedExec exec(graph, MemorySpace::device);
  exec.launch(stream);
  EXPECT_THAT(exec.stamps(stream), ElementsAre(0u, 0u, 0u));
  StampedExec pinned(graph, MemorySpace::pinned);
  EXPECT_THAT(pinned.pinned_stamps(), ElementsAre(0u, 0u, 0u));
}

TEST(DebugReplay, SaysTheLabelOnceWhereTheDeviceHasNoFunctionNames) {
  const auto device = host::open({.threads = 1});
  Stream stream = device->create_stream("s");
  const Graph graph = capture(stream, [&] {
    host::enqueue(stream, "one", [] {});
    host::enqueue(stream, "two", [] { throw std::runtime_error("out of luck"); });
  });
  try {
    debug_replay(graph, stream);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("out of luck"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("; the replay failed in node 1 (kernel 'two')")) << text;
  }
}

}  // namespace
}  // namespace reprise
