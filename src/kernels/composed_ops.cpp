// SPDX-License-Identifier: Apache-2.0
#include "kernels/composed_ops.h"

#include <algorithm>
#include <utility>

#include <reprise/error.h>

#include "kernels/descriptor_checks.h"

namespace reprise {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// A plan works on `chunk` rows at a time, so that its intermediates fit the workspace. Rows don't
/// see each other, so the cut changes no bit of the result.
template <class Descriptor>
class ComposedPlan final : public Plan {
 public:
  ComposedPlan(const Descriptor& d, int rows, int chunk_rows, std::size_t bytes)
      : Plan(rows, bytes), descriptor(d), chunk(chunk_rows) {}
  const Descriptor descriptor;
  const int chunk;
};

template <class Descriptor>
std::unique_ptr<Plan> plan_without_workspace(const Descriptor& descriptor, int rows,
                                             const char* operation) {
  check_rows(rows, operation);
  check(descriptor);
  return std::make_unique<ComposedPlan<Descriptor>>(descriptor, rows, rows, 0);
}

/// `bytes_of(rows)` is the workspace for so many rows.
template <class Descriptor, class Bytes>
std::unique_ptr<Plan> plan_in_chunks(const Descriptor& descriptor, int rows, const char* operation,
                                     const PlanBudget& budget, const Bytes& bytes_of) {
  int chunk = rows;
  while (chunk > 1 && bytes_of(chunk) > budget.workspace_bytes) chunk = (chunk + 1) / 2;
  if (bytes_of(chunk) > budget.workspace_bytes) {
    throw UsageError(std::string(operation) + " needs " + std::to_string(bytes_of(chunk)) +
                     " bytes of workspace for one row; PlanBudget::workspace_bytes is " +
                     std::to_string(budget.workspace_bytes));
  }
  return std::make_unique<ComposedPlan<Descriptor>>(descriptor, rows, chunk, bytes_of(chunk));
}

template <class Descriptor>
const ComposedPlan<Descriptor>& plan_of(const Plan& plan, const char* operation) {
  const auto* own = dynamic_cast<const ComposedPlan<Descriptor>*>(&plan);
  if (own == nullptr) {
    throw UsageError(std::string(operation) + " was run with the plan of another operation");
  }
  return *own;
}

void need_workspace(const Plan& plan, const void* workspace, const char* operation) {
  if (workspace != nullptr) return;
  throw UsageError(std::string(operation) + " needs a workspace of " +
                   std::to_string(plan.workspace_bytes()) + " bytes; none was given");
}

/// Workspace of norm → product: the normalised rows, then the product in f32.
struct NormedProduct {
  DType activation;
  std::int64_t hidden;
  std::int64_t outputs;  ///< kept in the workspace; 0: the product goes elsewhere

  std::size_t product_offset(int rows) const {
    return aligned(static_cast<std::size_t>(rows * hidden) * size_of(activation));
  }
  std::size_t bytes(int rows) const {
    return product_offset(rows) + aligned(static_cast<std::size_t>(rows * outputs) * sizeof(float));
  }
  float* product(void* workspace, int rows) const {
    return reinterpret_cast<float*>(static_cast<std::byte*>(workspace) + product_offset(rows));
  }
};

template <class Descriptor>
NormedProduct layout_of(const Descriptor& descriptor, DType activation, bool keep_product) {
  return {activation, descriptor.weight->cols, keep_product ? descriptor.weight->rows : 0};
}

template <class Descriptor>
void run_norm(Primitives& primitives, const Descriptor& descriptor, const NormedProduct& layout,
              const float* residual, void* out, int rows, Stream& stream) {
  primitives.rms_norm({.input = residual,
                       .weight = descriptor.norm,
                       .eps = descriptor.norm_eps,
                       .out = out,
                       .out_dtype = layout.activation,
                       .rows = rows,
                       .width = static_cast<int>(layout.hidden)},
                      stream);
}

/// Address of row `row` in an array of rows of `width` elements.
void* row_of(void* base, DType dtype, std::int64_t row, std::int64_t width) {
  return static_cast<std::byte*>(base) + row * width * static_cast<std::int64_t>(size_of(dtype));
}

template <class Body>
void for_chunks(int rows, int chunk, const Body& body) {
  for (int first = 0; first < rows; first += chunk) body(first, std::min(chunk, rows - first));
}

}  // namespace

ComposedOps::ComposedOps(std::unique_ptr<Primitives> primitives)
    : primitives_(std::move(primitives)) {}

DType ComposedOps::activation_dtype(DType weights) const {
  return primitives_->activation_dtype(weights);
}

DType ComposedOps::cache_dtype(DType weights) const { return primitives_->cache_dtype(weights); }

Weight ComposedOps::load(std::span<const HostTensor> parts, WeightUse use, Stream& stream) {
  return primitives_->load(parts, use, stream);
}

Weight ComposedOps::random(std::span<const RandomPart> parts, std::int64_t cols, DType dtype,
                           std::uint64_t seed, float deviation, WeightUse use, Stream& stream) {
  return primitives_->random(parts, cols, dtype, seed, deviation, use, stream);
}

std::unique_ptr<Plan> ComposedOps::plan(const EmbedDescriptor& descriptor, int rows,
                                        const PlanBudget&) {
  return plan_without_workspace(descriptor, rows, "embed");
}

std::unique_ptr<Plan> ComposedOps::plan(const QkvDescriptor& descriptor, int rows,
                                        const PlanBudget& budget) {
  check_rows(rows, "qkv");
  check(descriptor);
  const auto layout = layout_of(descriptor, activation_dtype(descriptor.weight->dtype), true);
  return plan_in_chunks(descriptor, rows, "qkv", budget, [&](int n) { return layout.bytes(n); });
}

std::unique_ptr<Plan> ComposedOps::plan(const AttendDescriptor& descriptor, int rows,
                                        const PlanBudget&) {
  return plan_without_workspace(descriptor, rows, "attend");
}

std::unique_ptr<Plan> ComposedOps::plan(const ProjectDescriptor& descriptor, int rows,
                                        const PlanBudget&) {
  return plan_without_workspace(descriptor, rows, "project");
}

std::unique_ptr<Plan> ComposedOps::plan(const GateUpDescriptor& descriptor, int rows,
                                        const PlanBudget& budget) {
  check_rows(rows, "gate_up");
  check(descriptor);
  const auto layout = layout_of(descriptor, activation_dtype(descriptor.weight->dtype), true);
  return plan_in_chunks(descriptor, rows, "gate_up", budget,
                        [&](int n) { return layout.bytes(n); });
}

std::unique_ptr<Plan> ComposedOps::plan(const LogitsDescriptor& descriptor, int rows,
                                        const PlanBudget& budget) {
  check_rows(rows, "logits");
  check(descriptor);
  const auto layout = layout_of(descriptor, activation_dtype(descriptor.weight->dtype), false);
  return plan_in_chunks(descriptor, rows, "logits", budget, [&](int n) { return layout.bytes(n); });
}

std::unique_ptr<Plan> ComposedOps::plan(const SelectDescriptor& descriptor, int rows,
                                        const PlanBudget&) {
  return plan_without_workspace(descriptor, rows, "select");
}

void ComposedOps::run(const Plan& plan, const EmbedArgs& args, Stream& stream) {
  primitives_->embed(plan_of<EmbedDescriptor>(plan, "embed").descriptor, args, plan.rows(), stream);
}

void ComposedOps::run(const Plan& plan, const QkvArgs& args, Stream& stream) {
  const auto& own = plan_of<QkvDescriptor>(plan, "qkv");
  const LabelScope scope(stream, "qkv");
  need_workspace(plan, args.workspace, "qkv");
  const QkvDescriptor& d = own.descriptor;
  const auto layout = layout_of(d, activation_dtype(d.weight->dtype), true);
  const std::int64_t q_width = std::int64_t{d.geometry.heads} * d.geometry.head_dim;
  for_chunks(plan.rows(), own.chunk, [&](int first, int rows) {
    float* product = layout.product(args.workspace, own.chunk);
    run_norm(*primitives_, d, layout, args.residual + first * layout.hidden, args.workspace, rows,
             stream);
    primitives_->matmul({.label = "qkv",
                         .input = args.workspace,
                         .input_dtype = layout.activation,
                         .weight = d.weight,
                         .bias = d.bias,
                         .out = product,
                         .rows = rows},
                        stream);
    primitives_->rotate_append({.batch = args.batch,
                                .qkv = product,
                                .q = row_of(args.q, layout.activation, first, q_width),
                                .q_dtype = layout.activation,
                                .cache = args.cache,
                                .geometry = d.geometry,
                                .rope = d.rope,
                                .rope_positions = d.rope_positions,
                                .first_row = first,
                                .rows = rows},
                               stream);
  });
}

void ComposedOps::run(const Plan& plan, const AttendArgs& args, Stream& stream) {
  primitives_->attend(plan_of<AttendDescriptor>(plan, "attend").descriptor, args, plan.rows(),
                      stream);
}

void ComposedOps::run(const Plan& plan, const ProjectArgs& args, Stream& stream) {
  const ProjectDescriptor& d = plan_of<ProjectDescriptor>(plan, "project").descriptor;
  const LabelScope scope(stream, "project");
  primitives_->matmul({.label = "project",
                       .input = args.input,
                       .input_dtype = activation_dtype(d.weight->dtype),
                       .weight = d.weight,
                       .bias = d.bias,
                       .out = args.residual,
                       .accumulate = true,
                       .rows = plan.rows()},
                      stream);
}

void ComposedOps::run(const Plan& plan, const GateUpArgs& args, Stream& stream) {
  const auto& own = plan_of<GateUpDescriptor>(plan, "gate_up");
  const LabelScope scope(stream, "gate_up");
  need_workspace(plan, args.workspace, "gate_up");
  const GateUpDescriptor& d = own.descriptor;
  const auto layout = layout_of(d, activation_dtype(d.weight->dtype), true);
  const std::int64_t width = d.weight->rows / 2;
  for_chunks(plan.rows(), own.chunk, [&](int first, int rows) {
    float* product = layout.product(args.workspace, own.chunk);
    run_norm(*primitives_, d, layout, args.residual + first * layout.hidden, args.workspace, rows,
             stream);
    primitives_->matmul({.label = "gate_up",
                         .input = args.workspace,
                         .input_dtype = layout.activation,
                         .weight = d.weight,
                         .bias = d.bias,
                         .out = product,
                         .rows = rows},
                        stream);
    primitives_->silu_mul({.gate_up = product,
                           .out = row_of(args.out, layout.activation, first, width),
                           .out_dtype = layout.activation,
                           .rows = rows,
                           .width = static_cast<int>(width)},
                          stream);
  });
}

void ComposedOps::run(const Plan& plan, const LogitsArgs& args, Stream& stream) {
  const auto& own = plan_of<LogitsDescriptor>(plan, "logits");
  const LabelScope scope(stream, "logits");
  need_workspace(plan, args.workspace, "logits");
  const LogitsDescriptor& d = own.descriptor;
  const auto layout = layout_of(d, activation_dtype(d.weight->dtype), false);
  for_chunks(plan.rows(), own.chunk, [&](int first, int rows) {
    run_norm(*primitives_, d, layout, args.residual + first * layout.hidden, args.workspace, rows,
             stream);
    primitives_->matmul({.label = "logits",
                         .input = args.workspace,
                         .input_dtype = layout.activation,
                         .weight = d.weight,
                         .out = args.logits + first * d.weight->rows,
                         .rows = rows},
                        stream);
  });
}

void ComposedOps::run(const Plan& plan, const SelectArgs& args, Stream& stream) {
  primitives_->select(plan_of<SelectDescriptor>(plan, "select").descriptor, args, plan.rows(),
                      stream);
}

std::vector<KernelFallback> ComposedOps::kernel_fallbacks() const {
  return primitives_->kernel_fallbacks();
}

void ComposedOps::set_on_note(LogSink on_note) { primitives_->set_on_note(std::move(on_note)); }

void ComposedOps::count_up(std::uint32_t* counter, Stream& stream) {
  primitives_->count_up(counter, stream);
}

void ComposedOps::read_all(const void* data, std::size_t bytes, std::uint32_t* sink,
                           Stream& stream) {
  primitives_->read_all(data, bytes, sink, stream);
}

}  // namespace reprise
