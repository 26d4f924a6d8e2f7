// SPDX-License-Identifier: Apache-2.0
// Heat flowing through a rod: a step that has nothing to do with language models, recorded once and
// replayed. The temperatures are the step's state; recording leaves them as they were.
#include <cstdio>
#include <span>
#include <vector>

#include <reprise/graph_runner.h>
#include <reprise/host.h>

int main() {
  constexpr int kCells = 64;
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("main");

  std::vector<float> rod(kCells, 20.0F);
  rod[0] = 100.0F;
  reprise::Buffer temperatures = device->allocate(kCells * sizeof(float), "temperatures");
  temperatures.from_host(stream, std::as_bytes(std::span(rod)));

  reprise::Step step;
  step.name = "heat";
  step.bindings = {
      {.name = "temperatures",
       .kind = reprise::BindingKind::state,
       .row = {kCells},
       .per_row = false},
      {.name = "conductivity", .per_row = false},
  };
  step.run = [](reprise::StepContext& context) {
    auto* const now = context.tensor("temperatures").as<float>();
    auto* const rate = context.tensor("conductivity").as<float>();
    auto* const next = static_cast<float*>(context.scratch(kCells * sizeof(float), "next"));
    reprise::host::enqueue(context.stream(), "diffuse", [=] {
      next[0] = now[0];
      next[kCells - 1] = now[kCells - 1];
      for (int i = 1; i + 1 < kCells; ++i) {
        next[i] = now[i] + *rate * (now[i - 1] - 2 * now[i] + now[i + 1]);
      }
    });
    reprise::host::enqueue(context.stream(), "advance", [=] {
      for (int i = 0; i < kCells; ++i) now[i] = next[i];
    });
  };

  reprise::GraphRunner runner(device, step);
  const float conductivity = 0.25F;
  reprise::TensorView rate = reprise::host_tensor(std::span(&conductivity, 1));
  rate.shape = {};
  const auto tensor = temperatures.tensor(reprise::DType::f32, {kCells});
  runner.capture({{"temperatures", tensor}, {"conductivity", rate}});
  std::printf("recorded %zu nodes\n", runner.graph().node_count());

  for (int i = 0; i < 10000; ++i) runner.replay();
  temperatures.to_host(runner.stream(), std::as_writable_bytes(std::span(rod)));
  // In the steady state heat falls evenly from the hot end to the cold one.
  const float middle = (rod[kCells / 2 - 1] + rod[kCells / 2]) / 2;
  std::printf("after 10000 replays the middle is at %.1f degrees, 60 in the steady state\n",
              middle);
  return middle > 55 && middle < 61 ? 0 : 1;
}
