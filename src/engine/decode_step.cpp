// SPDX-License-Identifier: Apache-2.0
#include "engine/decode_step.h"

#include <fmt/format.h>

#include <reprise/error.h>

namespace reprise {

DecodeStep::DecodeStep(const Llama& model, Ops& ops, KvCache& cache, int pages_per_sequence,
                       PlanBudget budget)
    : model_(model),
      ops_(ops),
      cache_(cache),
      pages_per_sequence_(pages_per_sequence),
      budget_(budget) {}

Step DecodeStep::make() {
  const auto copied = [](std::string name, DType dtype, Shape row) {
    return Binding{
        .name = std::move(name), .kind = BindingKind::copied, .dtype = dtype, .row = row};
  };
  const auto output = [](std::string name, DType dtype, Shape row) {
    return Binding{
        .name = std::move(name), .kind = BindingKind::output, .dtype = dtype, .row = row};
  };
  Step step;
  step.name = "decode";
  step.row_count = "row_count";
  step.bindings = {
      copied("tokens", DType::i32, {}),
      copied("positions", DType::i32, {}),
      copied("alive", DType::i32, {}),
      copied("temperatures", DType::f32, {}),
      copied("seeds", DType::i64, {}),
      copied("block_tables", DType::i32, Shape{pages_per_sequence_}),
      Binding{.name = "kv_cache",
              .kind = BindingKind::bound,
              .dtype = DType::u8,
              .row = Shape{cache_.bytes()},
              .per_row = false},
      output("logits", DType::f32, Shape{model_.config().vocabulary}),
      output("next", DType::i32, {}),
  };
  step.run = [this](StepContext& context) { run(context); };
  return step;
}

const DecodeStep::Plans& DecodeStep::plans(int rows, StepPhase phase) {
  std::unique_ptr<Plans>& plans = plans_[rows];
  if (!plans) {
    if (phase == StepPhase::recording) {
      throw UsageError(fmt::format("the decode step of {} rows was not warmed up", rows));
    }
    plans.reset(new Plans{Forward(model_, ops_, rows, budget_), Head(model_, ops_, rows, budget_)});
  }
  return *plans;
}

void DecodeStep::run(StepContext& context) {
  const Plans& plan = plans(context.rows(), context.phase());
  const auto address = [&](std::string_view name) { return context.tensor(name).data; };
  const BatchInputs batch{
      .tokens = static_cast<const std::int32_t*>(address("tokens")),
      .positions = static_cast<const std::int32_t*>(address("positions")),
      .block_tables = static_cast<const std::int32_t*>(address("block_tables")),
      .pages_per_sequence = pages_per_sequence_,
      .row_count = static_cast<const std::int32_t*>(address("row_count")),
      .alive = static_cast<const std::int32_t*>(address("alive")),
      .temperatures = static_cast<const float*>(address("temperatures")),
      .seeds = static_cast<const std::int64_t*>(address("seeds")),
  };
  const auto scratch = [&](std::size_t bytes, std::string_view label) {
    return context.scratch(bytes, label);
  };
  const ForwardBuffers buffers = plan.forward.allocate(scratch);
  void* const workspace = scratch(plan.head.workspace_bytes(), "head workspace");
  auto* const logits = static_cast<float*>(address("logits"));
  Stream& stream = context.stream();
  plan.forward.run(batch, buffers, cache_.layers(), stream);
  const LabelScope label(stream, "head");
  plan.head.logits(batch, buffers.residual, logits, workspace, stream);
  plan.head.select(batch, logits, static_cast<std::int32_t*>(address("next")), workspace, stream);
}

}  // namespace reprise
