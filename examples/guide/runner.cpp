// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <span>

#include <reprise/graph_runner.h>
#include <reprise/host.h>

#include "guide.h"

bool guide::runner() {
  const auto device = reprise::Device::open("host");
  // [step]
  reprise::Step step;
  step.name = "square";
  step.bindings = {{.name = "x"}, {.name = "y", .kind = reprise::BindingKind::output}};
  step.run = [](reprise::StepContext& context) {
    const auto* x = context.tensor("x").as<float>();
    auto* const y = context.tensor("y").as<float>();
    reprise::host::enqueue(context.stream(), "square", [x, y, rows = context.rows()] {
      for (int i = 0; i < rows; ++i) y[i] = x[i] * x[i];
    });
  };
  // [/step]
  std::array<float, 2> x = {2, 3};
  std::array<float, 2> y{};
  // [run]
  const reprise::TensorView input = reprise::host_tensor(std::span<const float>(x));
  reprise::GraphRunner runner(device, step, {.rows = 2});
  runner.capture({{"x", input}});
  x = {4, 5};
  runner.replay({{"x", input}});                         // enqueued on runner.stream()
  runner.read(runner.output("y"), std::span<float>(y));  // waits, then copies
  // [/run]
  const bool right = y == std::array<float, 2>{16, 25};
  // [slots]
  const reprise::Slot slot = runner.slot("x");  // the name is looked up once
  const std::array<reprise::Input, 1> inputs = {{{slot, input}}};
  for (int i = 0; i < 100; ++i) runner.replay(inputs);  // allocates nothing
  // [/slots]
  runner.reset();
  return right && runner.state() == reprise::RunState::cold;
}
