// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <reprise/graph.h>
#include <reprise/host.h>
#include <reprise/memory_pool.h>
#include <reprise/recording_watch.h>

#include "guide.h"

bool guide::diagnostics() {
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("main");
  const auto pool = reprise::MemoryPool::create(device, {.name = "scratch"});
  // [labels]
  const reprise::Graph graph = reprise::capture(stream, [&] {
    const reprise::LabelScope layer(stream, "layer 3");
    const reprise::LabelScope part(stream, "attention");
    reprise::host::enqueue(stream, "qkv", [] {});
  });
  std::string text;
  for (const reprise::GraphNode& node : graph.nodes()) {
    text += node.kind + " " + node.label + "\n";  // kernel layer 3 / attention / qkv
  }
  // [/labels]
  // [memory]
  const reprise::PoolBlock block = pool->allocate(100'000, "hidden");
  const std::string table = reprise::memory_summary(*pool);
  std::string owners;
  for (const reprise::SegmentInfo& segment : pool->snapshot()) {
    for (const reprise::BlockInfo& part : segment.blocks) owners += part.label + " ";
  }
  // [/memory]
  // [watch]
  const reprise::RecordingWatch watch(device);
  const reprise::Graph watched =
      reprise::capture(stream, [&] { reprise::host::enqueue(stream, "qkv", [] {}); });
  std::string leaks;
  for (const reprise::WatchedCall& call : watch.calls()) leaks += call.text + "\n";
  // [/watch]
  return leaks.empty() && watched.node_count() == 1 &&
         text == "kernel layer 3 / attention / qkv\n" &&
         table.find("scratch") != std::string::npos && owners.find("hidden") != std::string::npos;
}
