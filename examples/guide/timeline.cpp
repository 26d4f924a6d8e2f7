// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include <reprise/debug_replay.h>
#include <reprise/host.h>
#include <reprise/timeline_report.h>
#include <reprise/timer.h>

#include "guide.h"

bool guide::timeline() {
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("main");
  const reprise::Graph graph = reprise::capture(stream, [&] {
    for (const char* layer : {"layer 0", "layer 1"}) {
      const reprise::LabelScope scope(stream, layer);
      reprise::host::enqueue(stream, "attention", [] {});
      reprise::host::enqueue(stream, "project", [] {});
    }
  });
  // [timers]
  reprise::GraphExec exec = graph.instantiate();
  const reprise::TimeSamples pace = reprise::device_times(stream, [&] { exec.launch(stream); });
  const reprise::TimeSamples latency =
      reprise::wall_times(stream, [&] { exec.launch(stream); }, {.repeats = 100});
  const bool measured = pace.median() <= pace.p99() && latency.least() > 0;  // microseconds
  // [/timers]
  // [timeline]
  const reprise::Timeline timeline = reprise::measure_timeline(graph, stream, {.replays = 50});
  const std::string table = reprise::timeline_text(graph, timeline);
  const std::string trace = reprise::timeline_trace(graph, timeline, "my step");
  // [/timeline]
  std::string text;
  const auto failing_device = reprise::Device::open("host");
  reprise::Stream failing = failing_device->create_stream("main");
  const reprise::Graph broken = reprise::capture(failing, [&] {
    const reprise::LabelScope scope(failing, "layer 5");
    reprise::host::enqueue(failing, "qkv", [] { throw std::runtime_error("out of bounds"); });
  });
  // [debug]
  try {
    reprise::debug_replay(broken, failing);
  } catch (const reprise::DeviceError& error) {
    text = error.what();  // … the replay failed in node 0 (kernel 'layer 5 / qkv', qkv)
  }
  // [/debug]
  return measured && table.find("layer * / attention") != std::string::npos &&
         trace.find("my step") != std::string::npos &&
         text.find("node 0 (kernel 'layer 5 / qkv'") != std::string::npos;
}
