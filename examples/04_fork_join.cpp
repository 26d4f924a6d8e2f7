// SPDX-License-Identifier: Apache-2.0
// Two streams in one recording: the second joins by an event (fork), works beside the first, and is
// joined back (join). The graph keeps the order as edges; replaying needs one stream only.
#include <cstdio>
#include <span>
#include <vector>

#include <reprise/graph.h>
#include <reprise/host.h>

int main() {
  constexpr int kCount = 1000;
  const auto device = reprise::Device::open("host");
  reprise::Stream main = device->create_stream("main");
  reprise::Stream side = device->create_stream("side");
  reprise::Event forked = device->create_event();
  reprise::Event joined = device->create_event();
  reprise::Buffer buffer = device->allocate(3 * kCount * sizeof(float), "x, sums and squares");
  auto* const x = static_cast<float*>(buffer.data());
  float* const sum = x + kCount;
  float* const squares = sum + kCount;

  const reprise::Graph graph = reprise::capture(main, [&] {
    reprise::host::enqueue(main, "fill", [=] {
      for (int i = 0; i < kCount; ++i) x[i] = static_cast<float>(i % 7);
    });
    main.record(forked);
    side.wait(forked);  // from here on `side` is part of the recording
    reprise::host::enqueue(side, "sum of squares", [=] {
      *squares = 0;
      for (int i = 0; i < kCount; ++i) *squares += x[i] * x[i];
    });
    reprise::host::enqueue(main, "sum", [=] {
      *sum = 0;
      for (int i = 0; i < kCount; ++i) *sum += x[i];
    });
    side.record(joined);
    main.wait(joined);  // without this line, capture() throws an error that names `side`
    reprise::host::enqueue(main, "variance", [=] {
      const float mean = *sum / kCount;
      *sum = *squares / kCount - mean * mean;
    });
  });
  for (const reprise::GraphNode& node : graph.nodes()) {
    std::printf("%-15s waits for", node.label.c_str());
    for (const std::uint32_t earlier : node.dependencies) std::printf(" %u", earlier);
    std::printf("%s\n", node.dependencies.empty() ? " nothing" : "");
  }

  graph.instantiate().launch(main);
  std::vector<float> result(kCount + 1);
  buffer.to_host(main, std::as_writable_bytes(std::span(result)));
  float expected_sum = 0;
  float expected_squares = 0;
  for (int i = 0; i < kCount; ++i) {
    expected_sum += static_cast<float>(i % 7);
    expected_squares += static_cast<float>((i % 7) * (i % 7));
  }
  const float mean = expected_sum / kCount;
  const float expected = expected_squares / kCount - mean * mean;
  std::printf("variance %.6f, by the plain loop %.6f\n", result[kCount], expected);
  // All sums are whole numbers below 2^24, so both are the same operations on the same values.
  const bool forks = graph.nodes().at(3).dependencies.size() == 2;
  return result[kCount] == expected && forks ? 0 : 1;
}
