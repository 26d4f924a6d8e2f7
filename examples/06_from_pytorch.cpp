// SPDX-License-Identifier: Apache-2.0
// The C++ side of docs/porting-from-pytorch.md: its snippets are the marked regions of this file.
#include <array>
#include <cstdio>
#include <span>

#include <reprise/graph_pool.h>
#include <reprise/graph_runner.h>
#include <reprise/host.h>

namespace {

// [step]
reprise::Step doubling() {
  reprise::Step step;
  step.name = "double";
  step.bindings = {
      {.name = "x", .kind = reprise::BindingKind::copied, .row = {4}},
      {.name = "y", .kind = reprise::BindingKind::output, .row = {4}},
  };
  step.run = [](reprise::StepContext& context) {
    const auto* x = context.tensor("x").as<float>();
    auto* const y = context.tensor("y").as<float>();
    reprise::host::enqueue(context.stream(), "double", [x, y, rows = context.rows()] {
      for (int i = 0; i < rows * 4; ++i) y[i] = 2 * x[i];
    });
  };
  return step;
}
// [/step]

reprise::TensorView row_of(std::span<const float> values) {
  reprise::TensorView view = reprise::host_tensor(values);
  view.shape = {static_cast<std::int64_t>(values.size() / 4), 4};
  return view;
}

bool static_inputs(const std::shared_ptr<reprise::Device>& device) {
  std::array<float, 4> first = {1, 2, 3, 4};
  std::array<float, 4> second = {5, 6, 7, 8};
  std::array<float, 4> y{};
  // [replay]
  reprise::GraphRunner runner(device, doubling());
  runner.capture({{"x", row_of(first)}});  // warms up, records, instantiates, tests itself
  runner.replay({{"x", row_of(second)}});  // any address; copied into the static buffer
  runner.read(runner.output("y"), std::span<float>(y));
  // [/replay]
  return y == std::array<float, 4>{10, 12, 14, 16};
}

bool shared_pool(const std::shared_ptr<reprise::Device>& device) {
  const std::array<float, 12> batch = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::array<float, 12> y{};
  // [shared pool]
  const auto memory = reprise::MemoryPool::create(device, {.name = "graphs"});
  reprise::GraphPool pool(device, doubling(), {.sizes = {1, 2, 4}, .memory = memory});
  pool.record();                                     // largest first, all in one memory pool
  pool.run(3, {{"x", row_of(batch)}});               // padded to 4, replayed
  pool.read(pool.output("y"), std::span<float>(y));  // the 3 true rows
  // [/shared pool]
  return y[11] == 24 && pool.counters().replays == 1;
}

}  // namespace

int main() {
  const auto device = reprise::Device::open("host");
  const bool replayed = static_inputs(device);
  const bool pooled = shared_pool(device);
  std::printf("static inputs: %s, shared pool: %s\n", replayed ? "right" : "WRONG",
              pooled ? "right" : "WRONG");
  return replayed && pooled ? 0 : 1;
}
