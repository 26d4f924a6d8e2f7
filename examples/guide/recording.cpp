// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <span>

#include <reprise/graph.h>
#include <reprise/host.h>

#include "guide.h"

bool guide::recording() {
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("main");
  reprise::Buffer x = device->allocate(sizeof(float), "x");
  auto* const data = static_cast<float*>(x.data());
  // [capture]
  const reprise::Graph graph = reprise::capture(stream, [&] {
    stream.fill(x.view(), 0);
    const reprise::LabelScope layer(stream, "layer 0");
    reprise::host::enqueue(stream, "increment", [data] { *data += 1; });
  });  // nothing has run
  // [/capture]
  // [launch]
  reprise::GraphExec exec = graph.instantiate();
  exec.upload(stream);  // the first launch's set-up, ahead of time
  exec.launch(stream);
  exec.launch(stream);  // after the first, whatever the streams
  // [/launch]
  std::array<float, 1> value{};
  x.to_host(stream, std::as_writable_bytes(std::span(value)));
  // [update]
  const reprise::Graph again = reprise::capture(stream, [&] {
    stream.fill(x.view(), 0);
    reprise::host::enqueue(stream, "increment", [data] { *data += 2; });
  });
  const bool updated = exec.update(again) == reprise::UpdateResult::updated;
  // [/update]
  return value[0] == 1 && updated && graph.nodes().at(1).label == "layer 0 / increment";
}
