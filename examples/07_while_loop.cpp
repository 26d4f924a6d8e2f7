// SPDX-License-Identifier: Apache-2.0
// A square root by Newton's method, until it is exact enough: how many steps that takes is decided
// on the device, so that one launch runs them all and the host waits once.
#include <cmath>
#include <cstdio>
#include <span>

#include <reprise/control_flow.h>
#include <reprise/graph.h>
#include <reprise/host.h>

int main() {
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("main");
  const reprise::Buffer number = device->allocate(sizeof(double), "number");
  const reprise::Buffer guess = device->allocate(sizeof(double), "guess");
  const reprise::Buffer going_on = device->allocate(sizeof(std::int32_t), "going on");
  const reprise::Buffer steps = device->allocate(sizeof(std::int32_t), "steps");

  auto* const x = static_cast<double*>(number.data());
  auto* const y = static_cast<double*>(guess.data());
  auto* const go = static_cast<std::int32_t*>(going_on.data());
  auto* const count = static_cast<std::int32_t*>(steps.data());

  const reprise::Graph graph = reprise::capture(stream, [&] {
    reprise::host::enqueue(stream, "begin", [=] {
      *y = *x;
      *count = 0;
      *go = 1;
    });
    // Called once, here; what it enqueues runs as often as `going on` says.
    reprise::while_loop(stream, going_on.tensor(reprise::DType::i32, reprise::Shape{1}),
                        [&] {
                          reprise::host::enqueue(stream, "newton", [=] {
                            *y = (*y + *x / *y) / 2;
                            *go = std::abs(*y * *y - *x) > 1e-9 * *x ? 1 : 0;
                            ++*count;
                          });
                        },
                        {.max_iterations = 100, .label = "improve"});
  });
  for (const reprise::GraphNode& node : graph.nodes()) {
    std::printf("%s '%s'\n", node.kind.c_str(), node.label.c_str());
    for (const auto& body : node.bodies) {
      for (const auto& inner : body)
        std::printf("  %s '%s'\n", inner.kind.c_str(), inner.label.c_str());
    }
  }

  reprise::GraphExec step = graph.instantiate();
  bool right = true;
  for (double value : {2.0, 144.0, 1e12}) {
    *x = value;  // the host device's memory is the process's; nothing runs at this time
    step.launch(stream);
    stream.synchronize();
    std::printf("the root of %g is %.9g, after %d steps in one launch\n", value, *y, *count);
    right = right && std::abs(*y - std::sqrt(value)) < 1e-6 * *y;
  }
  return right ? 0 : 1;
}
