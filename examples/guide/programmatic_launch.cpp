// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <span>
#include <string>

#include <reprise/error.h>
#include <reprise/graph.h>
#include <reprise/host.h>

#include "guide.h"

bool guide::programmatic_launch() {
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("main");
  reprise::Buffer weights = device->allocate(64, "weights");
  reprise::Buffer x = device->allocate(sizeof(float), "x");
  auto* const data = static_cast<float*>(x.data());
  stream.fill(x.view(), 0);
  // [declare]
  const reprise::DeclaredRange read_early{
      .data = weights.data(), .bytes = weights.bytes(), .label = "weights"};
  const reprise::DeclaredRange written{.data = x.data(), .bytes = x.bytes(), .label = "x"};
  const reprise::LaunchDeclaration declaration{.programmatic = true,
                                               .waits = true,
                                               .triggers_early = true,
                                               .prefetches = {&read_early, 1},
                                               .writes = {&written, 1}};
  const auto product = [&] {
    reprise::host::enqueue(stream, "product", declaration, [data] { *data += 1; });
  };
  const reprise::Graph graph = reprise::capture(stream, [&] {
    product();
    product();  // may start before the first one has ended
  });
  const bool early = graph.nodes().at(1).programmatic.size() == 1;
  // [/declare]
  // [refused]
  std::string refusal;
  try {
    reprise::capture(stream, [&] {
      product();
      const reprise::LabelScope scope(stream, "reload");
      stream.fill(weights.view(), 0);
    });
  } catch (const reprise::CaptureError& error) {
    refusal = error.what();  // … node 0 (kernel 'product') reads 'weights' before it waits, but
                             // node 1 (fill 'reload') writes there; …
  }
  // [/refused]
  graph.instantiate().launch(stream);
  std::array<float, 1> value{};
  x.to_host(stream, std::as_writable_bytes(std::span(value)));
  return value[0] == 2 && early && refusal.find("node 1 (fill 'reload')") != std::string::npos;
}
