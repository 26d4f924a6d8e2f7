// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/reference/reference.h"

#include <reprise/host.h>

#include "kernels/host/weights.h"

namespace reprise {
namespace {

class ReferencePrimitives final : public Primitives {
 public:
  explicit ReferencePrimitives(ReferenceOptions options) : options_(options) {}

  DType activation_dtype(DType) const override { return options_.activation; }
  DType cache_dtype(DType) const override { return options_.cache; }

  Weight load(std::span<const HostTensor> parts, WeightUse use, Stream& stream) override {
    return load_host_weight(parts, use, stream);
  }
  Weight random(std::span<const RandomPart> parts, std::int64_t cols, DType dtype,
                std::uint64_t seed, float deviation, WeightUse use, Stream& stream) override {
    return random_host_weight(parts, cols, dtype, seed, deviation, use, stream, fill_random);
  }

  void embed(const EmbedDescriptor& descriptor, const EmbedArgs& args, int rows,
             Stream& stream) override {
    host::enqueue(stream, "embed", [table = view_of(descriptor.table), args, rows] {
      reference::embed(table, args, rows);
    });
  }
  void rms_norm(const RmsNormArgs& args, Stream& stream) override {
    host::enqueue(stream, "norm",
                  [args, weight = view_of(args.weight)] { reference::rms_norm(args, weight); });
  }
  void matmul(const MatmulArgs& args, Stream& stream) override {
    host::enqueue(stream, "matmul",
                  [args, weight = view_of(args.weight), bias = view_of(args.bias)] {
                    reference::matmul(args, weight, bias);
                  });
  }
  void rotate_append(const RotateAppendArgs& args, Stream& stream) override {
    host::enqueue(stream, "rope", [args] { reference::rotate_append(args); });
  }
  void attend(const AttendDescriptor& descriptor, const AttendArgs& args, int rows,
              Stream& stream) override {
    host::enqueue(stream, "attend", [descriptor, args, rows, activation = options_.activation] {
      reference::attend(descriptor, args, rows, activation);
    });
  }
  void silu_mul(const SiluMulArgs& args, Stream& stream) override {
    host::enqueue(stream, "silu", [args] { reference::silu_mul(args); });
  }
  void select(const SelectDescriptor& descriptor, const SelectArgs& args, int rows,
              Stream& stream) override {
    host::enqueue(stream, "select",
                  [descriptor, args, rows] { reference::select(descriptor, args, rows); });
  }
  void count_up(std::uint32_t* counter, Stream& stream) override {
    host::enqueue(stream, "count_up", [counter] { ++*counter; });
  }
  void read_all(const void* data, std::size_t bytes, std::uint32_t* sink, Stream& stream) override {
    host::enqueue(stream, "read_all",
                  [data, bytes, sink] { *sink = reference::xor_words(data, bytes); });
  }

 private:
  ReferenceOptions options_;
};

}  // namespace

std::unique_ptr<Primitives> make_reference_primitives(Device&, ReferenceOptions options) {
  return std::make_unique<ReferencePrimitives>(options);
}

}  // namespace reprise
