// SPDX-License-Identifier: Apache-2.0
// When the nodes of a recorded graph run. Measured with a second executable of the same recording,
// in which the time is written down behind each node; the graph that serves is not touched.
//
// What the stamps change: between two nodes of a chain stands a kernel of one thread (on CUDA: a
// read of globaltimer; on the host, of the steady clock), so a node's time holds what launching it
// costs (Timeline::floor_us says how much), and programmatic edges, by which a kernel begins before
// the one before has ended, become full ones. The order in each chain, and what may run side by
// side in different ones, stay as recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <reprise/graph.h>
#include <reprise/timer.h>

namespace reprise {

/// One node, in the order of Graph::nodes(). Times in microseconds.
struct NodeTime {
  /// A chain of nodes each of which comes after the one before: what a stream recorded, as a rule.
  std::size_t lane = 0;
  /// In the replay that the timeline shows, from its beginning. On CUDA a node starts when the last
  /// of those it comes after has ended: waiting for a free multiprocessor counts as running.
  double start_us = 0;
  double end_us = 0;
  double median_us = 0;  ///< of its duration, over all replays
  double p99_us = 0;
  /// From the end of whichever node ended last before it to its own end, in the replay shown. These
  /// add up to the replay, which durations of nodes that run side by side do not.
  double interval_us = 0;
  double beside_us = 0;  ///< of its duration in the replay shown: at least one other node ran too
  std::vector<std::uint32_t> beside = {};  ///< those nodes; ascending
};

struct Timeline {
  std::vector<NodeTime> nodes;
  std::size_t lanes = 0;
  TimeSamples stamped;  ///< from a stamped replay's beginning to its last node's end
  /// Replays as they serve, without stamps, by device_times(); no samples where nobody measured.
  TimeSamples served;
  double shown_us = 0;  ///< the stamped replay shown: the one of median length
  /// What a node with next to no work of its own (a fill of 4 bytes) measures: about as much of
  /// every node's time is not its work.
  double floor_us = 0;
  double overlap_us = 0;  ///< of the replay shown: two or more nodes ran
  /// The chain that set the length of the replay shown: back from the node that ended last, each
  /// time to the one it waited for longest. Ascending.
  std::vector<std::uint32_t> critical_path;
};

struct TimelineOptions {
  int replays = 20;  ///< at least 1
  int warm_ups = 2;  ///< replays before, not kept
};

/// Replays `graph` on `stream`, with and without stamps, and waits. Each replay does what any does,
/// to the memory that the graph was recorded with: inputs must be in place, state that it changes
/// is changed, and nothing else may use that memory meanwhile. For the graph of a runner or pool
/// use its own stream, after a run with the inputs to be measured. Takes (2 nodes + 1) × 8 bytes of
/// device memory. Throws UsageError for fewer than 1 replays, CaptureError while the stream or the
/// calling thread records, DeviceError where the graph cannot be stamped (on CUDA: one that holds a
/// loop or a branch), and what replays throw.
Timeline measure_timeline(const Graph& graph, Stream& stream, const TimelineOptions& options = {});

/// Makes a timeline of stamps: for each replay nanoseconds of one clock, [0] of its beginning,
/// [1 + 2 i] of the start of node i, or 0 where it starts with the last end of those it comes
/// after, [2 + 2 i] of its end. A clock that moves in steps may put ends before starts: those
/// count as equal. Leaves `served` and `floor_us` alone. Throws UsageError where a replay's
/// number of stamps is wrong, or there is no replay. For measure_timeline() and for tests.
Timeline make_timeline(std::span<const GraphNode> nodes,
                       std::span<const std::vector<std::uint64_t>> replays);

}  // namespace reprise
