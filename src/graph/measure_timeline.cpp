// SPDX-License-Identifier: Apache-2.0
// measure_timeline(): takes the stamps.
#include <fmt/format.h>

#include <reprise/timeline.h>

#include "core/statistics.h"
#include "device/backend.h"
#include "device/checks.h"
#include "graph/stamped_exec.h"

namespace reprise {
namespace {

using Replays = std::vector<std::vector<std::uint64_t>>;

Replays stamped_replays(const Graph& graph, Stream& stream, const TimelineOptions& options) {
  StampedExec exec(graph, MemorySpace::device);
  Replays replays;
  for (int i = 0; i < options.warm_ups + options.replays; ++i) {
    exec.launch(stream);
    std::vector<std::uint64_t> stamps = exec.stamps(stream);
    if (i >= options.warm_ups) replays.push_back(std::move(stamps));
  }
  return replays;
}

TimeSamples served_times(const Graph& graph, Stream& stream, const TimelineOptions& options) {
  GraphExec exec = graph.instantiate();
  exec.upload(stream);
  return device_times(stream, [&] { exec.launch(stream); },
                      {.repeats = options.replays, .warm_ups = options.warm_ups});
}

/// What a node measures that has next to nothing to do, in the middle of a chain of such.
double floor_of(Device& device, const TimelineOptions& options) {
  constexpr int kNodes = 16;
  const Buffer word = device.allocate(sizeof(std::uint32_t), "timeline floor");
  Stream stream = device.create_stream("timeline floor");  // the caller's may be the default one
  const Graph graph = capture(stream, [&] {
    for (int i = 0; i < kNodes; ++i) stream.fill(word.view(), 0);
  });
  const Timeline timeline = make_timeline(graph.nodes(), stamped_replays(graph, stream, options));
  std::vector<double> medians;
  for (const NodeTime& node : timeline.nodes) medians.push_back(node.median_us);
  return median(medians);
}

}  // namespace

Timeline measure_timeline(const Graph& graph, Stream& stream, const TimelineOptions& options) {
  if (options.replays < 1 || options.warm_ups < 0) {
    throw UsageError(
        fmt::format("measure_timeline: {} replays after {} warm-ups; ask for at least "
                    "1 replay",
                    options.replays, options.warm_ups));
  }
  DeviceState& device = graph.device().state();
  device.require_usable();
  if (stream.state().owner != &device) {
    throw UsageError(
        fmt::format("measure_timeline on {}: the graph was recorded on another device "
                    "object",
                    checks::describe(stream.state())));
  }
  checks::refuse_wait(
      stream.state(), "measure_timeline", [&] { return checks::describe(stream.state()); },
      "measure what is recorded after the recorded function");
  Timeline timeline = make_timeline(graph.nodes(), stamped_replays(graph, stream, options));
  timeline.served = served_times(graph, stream, options);
  timeline.floor_us = floor_of(graph.device(), options);
  return timeline;
}

}  // namespace reprise
