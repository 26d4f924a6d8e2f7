// SPDX-License-Identifier: Apache-2.0
// Records y = a * x + y on the host device, replays it, and compares with a plain loop.
#include <cstdio>
#include <span>
#include <vector>

#include <reprise/graph.h>
#include <reprise/host.h>

int main() {
  constexpr std::size_t kCount = 1000;
  constexpr int kReplays = 5;
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("main");
  reprise::Buffer x = device->allocate(kCount * sizeof(float), "x");
  reprise::Buffer y = device->allocate(kCount * sizeof(float), "y");
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i);
  x.from_host(stream, std::as_bytes(std::span(values)));
  y.from_host(stream, std::as_bytes(std::span(values)));

  auto* const from = static_cast<const float*>(x.data());
  auto* const to = static_cast<float*>(y.data());
  const reprise::Graph graph = reprise::capture(stream, [&] {
    reprise::host::enqueue(stream, "axpy", [=] {
      for (std::size_t i = 0; i < kCount; ++i) to[i] += 2 * from[i];
    });
  });
  reprise::GraphExec exec = graph.instantiate();
  for (int i = 0; i < kReplays; ++i) exec.launch(stream);

  std::vector<float> result(kCount);
  y.to_host(stream, std::as_writable_bytes(std::span(result)));
  for (std::size_t i = 0; i < kCount; ++i) {
    const float expected = values[i] * (1 + 2 * kReplays);
    if (result[i] != expected) {
      std::printf("y[%zu] is %g after %d replays, not %g\n", i, result[i], kReplays, expected);
      return 1;
    }
  }
  std::printf("%d replays of %zu node: as the plain loop\n", kReplays, graph.node_count());
  return 0;
}
