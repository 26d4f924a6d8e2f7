// SPDX-License-Identifier: Apache-2.0
// A small step with every kind of binding, for the suites of runner and pool (DESIGN §5).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <reprise/graph_pool.h>
#include <reprise/graph_runner.h>

#include "contracts/fixture.h"

namespace reprise::contract {

/// out = 3 x + weights + scratch, where scratch is filled with 2 x first. Rows of kWidth floats.
class PoolTest : public RecordingTest {
 protected:
  static constexpr std::int64_t kWidth = 8;

  struct StepParts {
    bool state = false;  ///< adds `total` [max_rows, kWidth], which each run increases by 1
    float pad = 0;       ///< of x
    std::string row_count = "row_count";
  };

  Step step(StepParts parts) {
    Step step;
    step.name = "affine";
    step.row_count = parts.row_count;
    step.bindings = {
        {.name = "x", .kind = BindingKind::copied, .row = Shape{kWidth}, .pad = parts.pad},
        {.name = "weights", .kind = BindingKind::bound, .row = Shape{kWidth}},
        {.name = "out", .kind = BindingKind::output, .row = Shape{kWidth}},
    };
    if (parts.state) {
      step.bindings.push_back({.name = "total", .kind = BindingKind::state, .row = Shape{kWidth}});
    }
    step.run = [this, parts](StepContext& context) { run_step(context, parts.state); };
    return step;
  }
  Step step() { return step(StepParts{}); }

  void run_step(StepContext& context, bool with_state) {
    ++step_calls_;
    Stream& stream = context.stream();
    const std::size_t n = static_cast<std::size_t>(context.rows() * kWidth);
    const auto floats_of = [&](std::string_view name) { return context.tensor(name).as<float>(); };
    auto* const scratch = static_cast<float*>(context.scratch(n * sizeof(float), "doubled"));
    const LabelScope label(stream, "affine");
    kit_->copy_scaled(stream, scratch, floats_of("x"), n, 2);
    kit_->copy_scaled(stream, floats_of("out"), floats_of("x"), n, 3);
    kit_->axpy(stream, floats_of("out"), floats_of("weights"), n, 1);
    kit_->axpy(stream, floats_of("out"), scratch, n, 1);
    if (with_state) {
      kit_->add(stream, floats_of("total"), n, 1);
      kit_->axpy(stream, floats_of("out"), floats_of("total"), n, 1);
    }
  }

  GraphPoolOptions options(std::vector<int> sizes, int max_rows) {
    GraphPoolOptions options;
    options.sizes = std::move(sizes);
    options.max_rows = max_rows;
    options.on_note = [this](std::string_view line) { notes_.emplace_back(line); };
    return options;
  }

  Buffer device_floats(const std::vector<float>& values, std::string_view label) {
    Buffer buffer = device_->allocate(values.size() * sizeof(float), label);
    buffer.from_host(main_, std::as_bytes(std::span(values)));
    return buffer;
  }
  /// The first rows of the bound weights.
  TensorView weight_rows(std::int64_t rows) const {
    return {.data = weights_.data(),
            .dtype = DType::f32,
            .shape = Shape{rows, kWidth},
            .generation = weights_.generation()};
  }
  static TensorView rows_of(const Buffer& buffer, std::int64_t rows) {
    return buffer.tensor(DType::f32, Shape{rows, kWidth});
  }
  static TensorView rows_of(const std::vector<float>& values) {
    TensorView view = host_tensor(std::span<const float>(values));
    view.shape = Shape{static_cast<std::int64_t>(values.size()) / kWidth, kWidth};
    return view;
  }
  /// Distinct values, so that swapped rows would show.
  static std::vector<float> batch(int rows, float seed) {
    std::vector<float> values(static_cast<std::size_t>(rows * kWidth));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = seed + 0.25F * static_cast<float>(i);
    return values;
  }
  std::vector<float> read_out(GraphPool& pool) {
    const OutputView view = pool.output("out");
    std::vector<float> values(static_cast<std::size_t>(view.tensor.shape.elements()));
    pool.read(view, std::span(values));
    return values;
  }
  std::vector<float> read_out(GraphRunner& runner) {
    const OutputView view = runner.output("out");
    std::vector<float> values(static_cast<std::size_t>(view.tensor.shape.elements()));
    runner.read(view, std::span(values));
    return values;
  }
  /// What the step computes for x.
  std::vector<float> expected(const std::vector<float>& x) const {
    std::vector<float> out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = 3 * x[i] + weight_values_[i] + 2 * x[i];
    return out;
  }

  static constexpr int kMaxRows = 40;
  std::vector<float> weight_values_ = batch(kMaxRows, 1000);
  Buffer weights_ = device_floats(weight_values_, "weights");
  std::vector<std::string> notes_;
  int step_calls_ = 0;
};

}  // namespace reprise::contract
