// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <span>

#include <reprise/graph_runner.h>
#include <reprise/host.h>

#include "guide.h"

bool guide::bindings() {
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("set-up");
  // [kinds]
  reprise::Step step;
  step.name = "accumulate";
  step.bindings = {
      {.name = "x", .kind = reprise::BindingKind::copied, .row = {2}},
      {.name = "weights", .kind = reprise::BindingKind::bound, .row = {2}, .per_row = false},
      {.name = "total", .kind = reprise::BindingKind::state, .per_row = false},
      {.name = "y", .kind = reprise::BindingKind::output},
  };
  step.row_count = "true rows";  // an i32 on the device that the runner fills
  // [/kinds]
  step.run = [](reprise::StepContext& context) {
    const auto* x = context.tensor("x").as<float>();
    const auto* w = context.tensor("weights").as<float>();
    auto* const total = context.tensor("total").as<float>();
    auto* const y = context.tensor("y").as<float>();
    // [row count]
    const auto* true_rows = context.tensor("true rows").as<std::int32_t>();
    reprise::host::enqueue(context.stream(), "accumulate", [=] {
      for (int row = 0; row < *true_rows; ++row) {  // read when it runs, not when it is recorded
        y[row] = x[row * 2] * w[0] + x[row * 2 + 1] * w[1];
        *total += y[row];
      }
    });
    // [/row count]
  };
  std::array<float, 2> w = {10, 1};
  float total = 0;
  reprise::Buffer weights = device->allocate(sizeof w, "weights");
  reprise::Buffer sum = device->allocate(sizeof total, "total");
  weights.from_host(stream, std::as_bytes(std::span(w)));
  sum.from_host(stream, std::as_bytes(std::span(&total, 1)));
  const std::array<float, 2> x = {3, 4};
  reprise::TensorView input = reprise::host_tensor(std::span<const float>(x));
  input.shape = {1, 2};
  // [bind]
  reprise::GraphRunner runner(device, step);
  runner.capture({{"x", input},
                  {"weights", weights.tensor(reprise::DType::f32, {2})},
                  {"total", sum.tensor(reprise::DType::f32, {})}});  // `total` is still 0
  runner.replay();
  runner.replay();  // inputs not given keep their values
  // [/bind]
  sum.to_host(runner.stream(), std::as_writable_bytes(std::span(&total, 1)));
  bool refused = false;
  // [moved]
  reprise::Buffer moved = device->allocate(sizeof w, "weights, elsewhere");
  try {
    runner.replay({{"weights", moved.tensor(reprise::DType::f32, {2})}});
  } catch (const reprise::UsageError&) {  // names both; stale until rebind() or reset()
    refused = runner.state() == reprise::RunState::stale;
  }
  // [/moved]
  return total == 68 && refused;
}
