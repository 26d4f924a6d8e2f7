// SPDX-License-Identifier: Apache-2.0
// Block operations composed of primitives: the default of every device (DESIGN §7). What an
// operation of several primitives enqueues is labelled with both: "qkv / matmul".
#pragma once

#include <memory>

#include "kernels/ops.h"
#include "kernels/primitives.h"

namespace reprise {

class ComposedOps : public Ops {
 public:
  explicit ComposedOps(std::unique_ptr<Primitives> primitives);

  DType activation_dtype(DType weights) const override;
  DType cache_dtype(DType weights) const override;
  Weight load(std::span<const HostTensor> parts, WeightUse use, Stream& stream) override;
  Weight random(std::span<const RandomPart> parts, std::int64_t cols, DType dtype,
                std::uint64_t seed, float deviation, WeightUse use, Stream& stream) override;

  std::unique_ptr<Plan> plan(const EmbedDescriptor&, int rows, const PlanBudget&) override;
  std::unique_ptr<Plan> plan(const QkvDescriptor&, int rows, const PlanBudget&) override;
  std::unique_ptr<Plan> plan(const AttendDescriptor&, int rows, const PlanBudget&) override;
  std::unique_ptr<Plan> plan(const ProjectDescriptor&, int rows, const PlanBudget&) override;
  std::unique_ptr<Plan> plan(const GateUpDescriptor&, int rows, const PlanBudget&) override;
  std::unique_ptr<Plan> plan(const LogitsDescriptor&, int rows, const PlanBudget&) override;
  std::unique_ptr<Plan> plan(const SelectDescriptor&, int rows, const PlanBudget&) override;

  void run(const Plan& plan, const EmbedArgs& args, Stream& stream) override;
  void run(const Plan& plan, const QkvArgs& args, Stream& stream) override;
  void run(const Plan& plan, const AttendArgs& args, Stream& stream) override;
  void run(const Plan& plan, const ProjectArgs& args, Stream& stream) override;
  void run(const Plan& plan, const GateUpArgs& args, Stream& stream) override;
  void run(const Plan& plan, const LogitsArgs& args, Stream& stream) override;
  void run(const Plan& plan, const SelectArgs& args, Stream& stream) override;

  std::vector<KernelFallback> kernel_fallbacks() const override;
  void set_on_note(LogSink on_note) override;
  void count_up(std::uint32_t* counter, Stream& stream) override;
  void read_all(const void* data, std::size_t bytes, std::uint32_t* sink, Stream& stream) override;

 protected:
  Primitives& primitives() noexcept { return *primitives_; }

 private:
  std::unique_ptr<Primitives> primitives_;
};

/// How the reference stores what it computes, so that it can stand in for a device that stores
/// activations and cache in 16 bits.
struct ReferenceOptions {
  DType activation = DType::f32;
  DType cache = DType::f32;
};
/// Host primitives. The reference is the oracle: plain loops, float64 accumulation, one thread.
std::unique_ptr<Primitives> make_reference_primitives(Device& device,
                                                      ReferenceOptions options = {});

/// Instruction sets the vectorised primitives are built for; `best` is the widest of the CPU.
enum class SimdLevel : std::uint8_t { scalar, avx2, avx512, best };
bool simd_level_usable(SimdLevel level) noexcept;
/// Vectorised with run-time dispatch and threaded; one order of summation for any number of rows.
/// Throws UsageError for a level the CPU does not have.
std::unique_ptr<Primitives> make_simd_primitives(Device& device, SimdLevel level = SimdLevel::best);
/// Those of a CUDA device: what make_cuda_ops() composes. Only in builds with CUDA.
std::unique_ptr<Primitives> make_cuda_primitives(Device& device, const OpsOptions& options = {});

}  // namespace reprise
