// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

namespace errors {

using namespace reprise;

namespace {

void wrong_shape(World& w) {
  // [wrong-shape]
  GraphRunner runner = w.captured_runner();  // for 4 rows
  runner.replay({{"x", w.rows(3)}});
  // [/wrong-shape]
}

void strided(World& w) {
  // [strided]
  TensorView columns = w.rows(4);
  columns.strides = Shape{1, 4};
  w.captured_runner().replay({{"x", columns}});
  // [/strided]
}

void unknown_name(World& w) {
  // [unknown-name]
  w.captured_runner().replay({{"y", w.rows(4)}});
  // [/unknown-name]
}

void given_twice(World& w) {
  // [given-twice]
  w.captured_runner().replay({{"x", w.rows(4)}, {"x", w.rows(4)}});
  // [/given-twice]
}

void missing_input(World& w) {
  // [missing-input]
  GraphRunner runner(w.device, w.step(), {.rows = 4});
  runner.capture({{"weights", w.weight_rows(4)}});
  // [/missing-input]
}

void missing_rows(World& w) {
  // [missing-rows]
  GraphPool pool = w.recorded_pool();
  pool.run(4, {{"x", w.rows(4)}});
  pool.run(3, {});  // x still has 4 rows
  // [/missing-rows]
}

void moved_buffer(World& w) {
  // [moved-buffer]
  GraphRunner runner = w.captured_runner();
  const Buffer elsewhere = w.device->allocate(w.weights.bytes(), "elsewhere");
  runner.replay({{"weights", elsewhere.tensor(DType::f32, Shape{4, 8})}});
  // [/moved-buffer]
}

void stale(World& w) {
  GraphRunner runner = w.captured_runner();
  const Buffer elsewhere = w.device->allocate(w.weights.bytes(), "elsewhere");
  try {
    runner.replay({{"weights", elsewhere.tensor(DType::f32, Shape{4, 8})}});
  } catch (const UsageError&) {
  }
  // [stale]
  runner.replay();  // after the error above
  // [/stale]
}

void second_capture(World& w) {
  // [second-capture]
  GraphRunner runner = w.captured_runner();
  runner.capture({{"x", w.rows(4)}, {"weights", w.weight_rows(4)}});
  // [/second-capture]
}

void cold(World& w) {
  // [cold]
  GraphRunner runner(w.device, w.step(), {.rows = 4});
  runner.replay();
  // [/cold]
}

void too_many_rows(World& w) {
  // [too-many-rows]
  w.recorded_pool().run(9, {{"x", w.rows(9)}});
  // [/too-many-rows]
}

void overwritten_output(World& w) {
  // [overwritten-output]
  GraphPool pool = w.recorded_pool();
  pool.run(4, {{"x", w.rows(4)}});
  const OutputView first = pool.output("out");
  pool.run(4, {});
  pool.read(first, std::span(w.values).first(32));
  // [/overwritten-output]
}

void no_graph(World& w) {
  // [no-graph]
  w.recorded_pool().graph(3);
  // [/no-graph]
}

void second_lane(World& w) {
  // [second-lane]
  GraphRunner* inside = nullptr;
  Step step = w.step();
  step.run = [&](StepContext&) { inside->replay(); };  // or another thread, meanwhile
  GraphRunner runner(w.device, step, {.rows = 4});
  inside = &runner;
  runner.capture({{"x", w.rows(4)}, {"weights", w.weight_rows(4)}});
  // [/second-lane]
}

void self_test(World& w) {
  // [self-test]
  Step step = w.step();
  step.run = [&, run = step.run](StepContext& context) {
    // Work on a stream that did not join: it runs at once and is missing from the graph.
    Stream& target = context.phase() == StepPhase::recording ? w.side : context.stream();
    run(context);
    const TensorView out = context.tensor("out");
    target.fill({out.data, 4, MemorySpace::device}, 1);
  };
  GraphRunner runner(w.device, step, {.rows = 4});
  runner.capture({{"x", w.rows(4)}, {"weights", w.weight_rows(4)}});
  // [/self-test]
}

}  // namespace

std::vector<Case> run_cases() {
  return {{"wrong-shape", wrong_shape},
          {"strided", strided},
          {"unknown-name", unknown_name},
          {"given-twice", given_twice},
          {"missing-input", missing_input},
          {"missing-rows", missing_rows},
          {"moved-buffer", moved_buffer},
          {"stale", stale},
          {"second-capture", second_capture},
          {"cold", cold},
          {"too-many-rows", too_many_rows},
          {"overwritten-output", overwritten_output},
          {"no-graph", no_graph},
          {"second-lane", second_lane},
          {"self-test", self_test}};
}

}  // namespace errors
