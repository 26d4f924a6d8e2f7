// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

namespace errors {

using namespace reprise;

TensorView World::rows(int count) const {
  TensorView view = host_tensor(std::span<const float>(values));
  view.shape = Shape{count, 8};
  return view;
}

TensorView World::weight_rows(int count) const {
  return {.data = weights.data(),
          .dtype = DType::f32,
          .shape = Shape{count, 8},
          .generation = weights.generation()};
}

Step World::step() const {
  Step step;
  step.name = "sum";
  step.bindings = {
      {.name = "x", .kind = BindingKind::copied, .row = Shape{8}},
      {.name = "weights", .kind = BindingKind::bound, .row = Shape{8}},
      {.name = "out", .kind = BindingKind::output, .row = Shape{8}},
  };
  step.run = [](StepContext& context) {
    const float* const in = context.tensor("x").as<float>();
    const float* const added = context.tensor("weights").as<float>();
    float* const out = context.tensor("out").as<float>();
    const int n = 8 * context.rows();
    host::enqueue(context.stream(), "sum", [=] {
      for (int i = 0; i < n; ++i) out[i] = in[i] + added[i];
    });
  };
  return step;
}

GraphRunner World::captured_runner() const {
  GraphRunner runner(device, step(), {.rows = 4});
  runner.capture({{"x", rows(4)}, {"weights", weight_rows(4)}});
  return runner;
}

GraphPool World::recorded_pool() const {
  GraphPoolOptions options;
  options.sizes = {2, 4, 8};
  GraphPool pool(device, step(), options);
  pool.bind("weights", weight_rows(8));
  pool.record();
  return pool;
}

}  // namespace errors
