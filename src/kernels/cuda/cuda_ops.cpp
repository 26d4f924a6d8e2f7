// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include <reprise/error.h>

#include "kernels/composed_ops.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/lt_fallbacks.h"
#include "kernels/cuda/lt_matmul.h"
#include "kernels/cuda/programmatic.h"
#include "kernels/cuda/weights.h"

namespace reprise {
namespace {

/// Generic CUDA implementations: any sizes, compute capability 8.0 upward. 16-bit weights bring
/// activations and cache of their own type.
class CudaPrimitives final : public Primitives {
 public:
  CudaPrimitives(Device& device, const OpsOptions& options)
      : launches_(device, options.programmatic_launch) {}

  DType activation_dtype(DType weights) const override { return weights; }
  DType cache_dtype(DType weights) const override { return weights; }

  Weight load(std::span<const HostTensor> parts, WeightUse use, Stream& stream) override {
    return loader_.load(parts, use, stream);
  }
  Weight random(std::span<const RandomPart> parts, std::int64_t cols, DType dtype,
                std::uint64_t seed, float deviation, WeightUse use, Stream& stream) override {
    return cuda_kernels::random_weights(parts, cols, dtype, seed, deviation, use, stream);
  }

  void embed(const EmbedDescriptor& descriptor, const EmbedArgs& args, int rows,
             Stream& stream) override {
    cuda_kernels::embed(descriptor, args, rows, launches_.on(stream));
  }
  void rms_norm(const RmsNormArgs& args, Stream& stream) override {
    cuda_kernels::rms_norm(args, launches_.on(stream));
  }
  void matmul(const MatmulArgs& args, Stream& stream) override {
    cuda_kernels::check_matmul(args);
    if (args.weight->dtype == DType::f32)
      return cuda_kernels::matmul_f32(args, launches_.on(stream));
    if (args.rows > cuda_kernels::kFamilyRows) {
      const cuda_kernels::LtAnswer answer = lt_.run(args, stream);
      if (answer == cuda_kernels::LtAnswer::enqueued) return;
      fallbacks_.count(answer, args);
    }
    cuda_kernels::matmul_mma(args, launches_.on(stream));
  }
  void rotate_append(const RotateAppendArgs& args, Stream& stream) override {
    cuda_kernels::rotate_append(args, launches_.on(stream));
  }
  void attend(const AttendDescriptor& descriptor, const AttendArgs& args, int rows,
              Stream& stream) override {
    cuda_kernels::attend(descriptor, args, rows, launches_.on(stream));
  }
  void silu_mul(const SiluMulArgs& args, Stream& stream) override {
    cuda_kernels::silu_mul(args, launches_.on(stream));
  }
  void select(const SelectDescriptor& descriptor, const SelectArgs& args, int rows,
              Stream& stream) override {
    cuda_kernels::select(descriptor, args, rows, launches_.on(stream));
  }
  std::vector<KernelFallback> kernel_fallbacks() const override {
    std::vector<KernelFallback> counts = fallbacks_.counts();
    launches_.add_to(counts);
    return counts;
  }
  void set_on_note(LogSink on_note) override {
    launches_.set_on_note(on_note);
    fallbacks_.set_on_note(std::move(on_note));
  }
  void count_up(std::uint32_t* counter, Stream& stream) override {
    cuda_kernels::count_up(counter, stream);
  }
  void read_all(const void* data, std::size_t bytes, std::uint32_t* sink, Stream& stream) override {
    cuda_kernels::read_all(data, bytes, sink, stream);
  }

 private:
  cuda_kernels::WeightLoader loader_;
  cuda_kernels::LtMatmul lt_;
  cuda_kernels::LtFallbacks fallbacks_;
  cuda_kernels::ProgrammaticLaunches launches_;
};

}  // namespace

std::unique_ptr<Ops> make_cuda_ops(Device& device, const OpsOptions& options) {
  return std::make_unique<ComposedOps>(make_cuda_primitives(device, options));
}

std::unique_ptr<Primitives> make_cuda_primitives(Device& device, const OpsOptions& options) {
  const int capability = device.properties().compute_capability;
  if (capability < 80) {
    throw DeviceError(device.label() + " (" + device.properties().name +
                      ") has compute capability " + std::to_string(capability / 10) + "." +
                      std::to_string(capability % 10) +
                      "; the CUDA operations need 8.0 or newer: use --device host");
  }
  return std::make_unique<CudaPrimitives>(device, options);
}

}  // namespace reprise
