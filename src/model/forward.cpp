// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "model/llama.h"

namespace reprise {
namespace {

const Weight* optional(const std::optional<Weight>& weight) { return weight ? &*weight : nullptr; }

}  // namespace

Forward::Forward(const Llama& model, Ops& ops, int rows, const PlanBudget& budget)
    : model_(model), ops_(ops), rows_(rows) {
  embed_ = ops.plan(EmbedDescriptor{.table = &model.embedding()}, rows, budget);
  need(*embed_);
  for (std::size_t index = 0; index < model.layers().size(); ++index) plan_layer(index, budget);
}

void Forward::need(const Plan& plan) noexcept {
  workspace_bytes_ = std::max(workspace_bytes_, plan.workspace_bytes());
}

void Forward::plan_layer(std::size_t index, const PlanBudget& budget) {
  const LlamaLayer& layer = model_.layers()[index];
  const ModelConfig& config = model_.config();
  const auto eps = static_cast<float>(config.rms_norm_eps);
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim)));
  LayerPlans plans;
  plans.label = "layer " + std::to_string(index);
  plans.qkv = ops_.plan(QkvDescriptor{.norm = &layer.input_norm,
                                      .norm_eps = eps,
                                      .weight = &layer.qkv,
                                      .bias = optional(layer.qkv_bias),
                                      .geometry = model_.geometry(),
                                      .rope = model_.rope(),
                                      .rope_positions = model_.positions()},
                        rows_, budget);
  plans.attend = ops_.plan(AttendDescriptor{.geometry = model_.geometry(),
                                            .scale = scale,
                                            .window = static_cast<int>(config.windows[index])},
                           rows_, budget);
  plans.out = ops_.plan(ProjectDescriptor{.weight = &layer.o, .bias = optional(layer.o_bias)},
                        rows_, budget);
  plans.gate_up = ops_.plan(GateUpDescriptor{.norm = &layer.post_norm,
                                             .norm_eps = eps,
                                             .weight = &layer.gate_up,
                                             .bias = optional(layer.gate_up_bias)},
                            rows_, budget);
  plans.down = ops_.plan(
      ProjectDescriptor{.weight = &layer.down, .bias = optional(layer.down_bias)}, rows_, budget);
  for (const auto* plan : {&plans.qkv, &plans.attend, &plans.out, &plans.gate_up, &plans.down}) {
    need(**plan);
  }
  layers_.push_back(std::move(plans));
}

ForwardBuffers Forward::allocate(
    const std::function<void*(std::size_t bytes, std::string_view label)>& scratch) const {
  const ModelConfig& config = model_.config();
  const auto rows = static_cast<std::size_t>(rows_);
  const std::size_t element = size_of(ops_.activation_dtype(model_.dtype()));
  const auto hidden = static_cast<std::size_t>(config.hidden_size);
  const auto query = static_cast<std::size_t>(config.query_size());
  const auto intermediate = static_cast<std::size_t>(config.intermediate_size);
  ForwardBuffers buffers;
  buffers.residual = static_cast<float*>(scratch(rows * hidden * sizeof(float), "residual"));
  buffers.q = scratch(rows * query * element, "q");
  buffers.attention = scratch(rows * query * element, "attention");
  buffers.activation = scratch(rows * intermediate * element, "activation");
  buffers.workspace = scratch(workspace_bytes_, "workspace");
  return buffers;
}

void Forward::run(const BatchInputs& batch, const ForwardBuffers& buffers,
                  const std::vector<CacheLayer>& cache, Stream& stream) const {
  ops_.run(*embed_, EmbedArgs{.batch = batch, .residual = buffers.residual}, stream);
  for (std::size_t index = 0; index < layers_.size(); ++index) {
    run_layer(index, batch, buffers, cache[index], stream);
  }
}

void Forward::run_layer(std::size_t index, const BatchInputs& batch, const ForwardBuffers& buffers,
                        const CacheLayer& cache, Stream& stream) const {
  const LayerPlans& plans = layers_[index];
  const LabelScope label(stream, plans.label);
  void* const workspace = buffers.workspace;
  ops_.run(*plans.qkv,
           QkvArgs{.batch = batch,
                   .residual = buffers.residual,
                   .q = buffers.q,
                   .cache = cache,
                   .workspace = workspace},
           stream);
  ops_.run(*plans.attend,
           AttendArgs{.batch = batch,
                      .q = buffers.q,
                      .cache = cache,
                      .out = buffers.attention,
                      .workspace = workspace},
           stream);
  ops_.run(*plans.out,
           ProjectArgs{.batch = batch,
                       .input = buffers.attention,
                       .residual = buffers.residual,
                       .workspace = workspace},
           stream);
  ops_.run(*plans.gate_up,
           GateUpArgs{.batch = batch,
                      .residual = buffers.residual,
                      .out = buffers.activation,
                      .workspace = workspace},
           stream);
  ops_.run(*plans.down,
           ProjectArgs{.batch = batch,
                       .input = buffers.activation,
                       .residual = buffers.residual,
                       .workspace = workspace},
           stream);
}

Head::Head(const Llama& model, Ops& ops, int rows, const PlanBudget& budget) : ops_(ops) {
  logits_ = ops.plan(LogitsDescriptor{.norm = &model.final_norm(),
                                      .norm_eps = static_cast<float>(model.config().rms_norm_eps),
                                      .weight = &model.lm_head()},
                     rows, budget);
  select_ = ops.plan(SelectDescriptor{.vocabulary = static_cast<int>(model.config().vocabulary)},
                     rows, budget);
  workspace_bytes_ = std::max(logits_->workspace_bytes(), select_->workspace_bytes());
}

void Head::logits(const BatchInputs& batch, const float* residual, float* logits, void* workspace,
                  Stream& stream) const {
  ops_.run(
      *logits_,
      LogitsArgs{.batch = batch, .residual = residual, .logits = logits, .workspace = workspace},
      stream);
}

void Head::select(const BatchInputs& batch, const float* logits, std::int32_t* next,
                  void* workspace, Stream& stream) const {
  ops_.run(*select_,
           SelectArgs{.batch = batch, .logits = logits, .next = next, .workspace = workspace},
           stream);
}

}  // namespace reprise
