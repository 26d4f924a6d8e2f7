// SPDX-License-Identifier: Apache-2.0
// The vectorised primitives: shares each operation out among threads and calls the kernels of the
// CPU's instruction set.
#include <algorithm>
#include <array>
#include <cmath>

#include <reprise/error.h>
#include <reprise/host.h>

#include "kernels/composed_ops.h"
#include "kernels/host/batch.h"
#include "kernels/host/simd/kernel_table.h"
#include "kernels/host/simd/read_all.h"
#include "kernels/sampling.h"

namespace reprise {
namespace {

using simd::Choice;
using simd::KernelTable;

/// Work below this many elementary operations is not worth a second thread.
constexpr std::int64_t kGrainWork = 32768;

std::size_t grain(std::int64_t work_per_item) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, kGrainWork / work_per_item));
}

const KernelTable& kernels_of(SimdLevel level) {
  if (level == SimdLevel::best) {
    level = simd_level_usable(SimdLevel::avx512) ? SimdLevel::avx512
            : simd_level_usable(SimdLevel::avx2) ? SimdLevel::avx2
                                                 : SimdLevel::scalar;
  }
  if (!simd_level_usable(level)) {
    throw UsageError("this CPU lacks the instructions of the SIMD level asked for; use `best`");
  }
  if (level == SimdLevel::avx512) return simd::avx512_kernels();
  return level == SimdLevel::avx2 ? simd::avx2_kernels() : simd::scalar_kernels();
}

void need_f32(DType dtype, const char* what) {
  if (dtype != DType::f32) {
    throw UsageError(std::string(what) + " is " + std::string(to_string(dtype)) +
                     "; the vectorised host operations take f32");
  }
}

const float* vector_of(const Weight* weight, const char* what) {
  if (weight == nullptr) return nullptr;
  need_f32(weight->dtype, what);
  return static_cast<const float*>(weight->parts[0].data);
}

void embed(const KernelTable& kernels, const WeightView& table, const EmbedArgs& args, int rows) {
  const int used = true_rows(args.batch, rows);
  for (int row = 0; row < rows; ++row) {
    float* out = args.residual + row * table.cols;
    if (row >= used) {
      std::fill_n(out, table.cols, 0.0f);
      continue;
    }
    kernels.convert(table.dtype, table.row(token_of(args.batch, row, table.rows)), out, table.cols);
  }
}

void rotate_append_row(const KernelTable& kernels, const RotateAppendArgs& args, int r) {
  const auto [heads, kv_heads, head_dim] = args.geometry;
  const std::int64_t q_width = std::int64_t{heads} * head_dim;
  const std::int64_t kv_width = std::int64_t{kv_heads} * head_dim;
  const int row = args.first_row + r;
  float* q_out = static_cast<float*>(args.q) + r * q_width;
  if (row >= true_rows(args.batch, args.first_row + args.rows)) {
    std::fill_n(q_out, q_width, 0.0f);
    return;
  }
  const std::int64_t limit = std::min(args.rope_positions, table_positions(args.batch));
  const std::int32_t position = position_of(args.batch, row, limit, "qkv");
  const float* angles = args.rope + std::int64_t{position} * head_dim;
  const float* q = args.qkv + r * (q_width + 2 * kv_width);
  const float* k = q + q_width;
  const std::int64_t at = cache_index(args.geometry, pages_of(args.batch, row), position, 0);
  float* keys = static_cast<float*>(args.cache.keys) + at;
  float* values = static_cast<float*>(args.cache.values) + at;
  for (std::int64_t i = 0; i < q_width; i += head_dim) {
    kernels.rotate(q + i, angles, q_out + i, head_dim);
  }
  for (std::int64_t i = 0; i < kv_width; i += head_dim) {
    kernels.rotate(k + i, angles, keys + i, head_dim);
  }
  std::copy_n(k + kv_width, kv_width, values);
}

/// Rows from `row` on that follow each other in one sequence, at most as many as a task takes.
int rows_in_sequence(const BatchInputs& batch, int row, int last) {
  int count = 1;
  while (count < simd::AttendTask::kMaxRows && row + count < last &&
         pages_of(batch, row + count) == pages_of(batch, row) &&
         batch.positions[row + count] == batch.positions[row] + count) {
    ++count;
  }
  return count;
}

/// Rows [row, last) for one key-value head; rows at and above `used` are padding.
void attend_rows(const KernelTable& kernels, const AttendDescriptor& descriptor,
                 const AttendArgs& args, int kv_head, int row, int last, int used) {
  const auto [heads, kv_heads, head_dim] = descriptor.geometry;
  const int group = heads / kv_heads;
  const std::int64_t width = std::int64_t{heads} * head_dim;
  const std::int64_t head_at = std::int64_t{kv_head} * group * head_dim;
  float* out = static_cast<float*>(args.out) + head_at;
  while (row < last && row < used) {
    const int count = rows_in_sequence(args.batch, row, std::min(last, used));
    const std::int64_t room = table_positions(args.batch);
    position_of(args.batch, row + count - 1, room, "attend");
    kernels.attend({.q = static_cast<const float*>(args.q) + row * width + head_at,
                    .out = out + row * width,
                    .keys = static_cast<const float*>(args.cache.keys) + kv_head * head_dim,
                    .values = static_cast<const float*>(args.cache.values) + kv_head * head_dim,
                    .pages = pages_of(args.batch, row),
                    .row_stride = width,
                    .rows = count,
                    .group = group,
                    .head_dim = head_dim,
                    .entry_stride = kv_heads * head_dim,
                    .position = position_of(args.batch, row, room, "attend"),
                    .window = descriptor.window,
                    .scale = descriptor.scale});
    row += count;
  }
  for (; row < last; ++row) std::fill_n(out + row * width, std::int64_t{group} * head_dim, 0.0f);
}

/// A draw for one row, its vocabulary shared out among threads.
std::int32_t sample(Device& device, const KernelTable& kernels, const float* logits, int vocabulary,
                    float largest, float temperature, std::uint64_t key) {
  constexpr std::size_t kParts = 64;
  std::array<Choice, kParts> best{};
  const int part = (vocabulary + int{kParts} - 1) / int{kParts};
  host::parallel_for(device, kParts, grain(std::int64_t{part} * 32),
                     [&](std::size_t begin, std::size_t end) {
                       for (std::size_t i = begin; i < end; ++i) {
                         const int first = std::min(vocabulary, static_cast<int>(i) * part);
                         const int last = std::min(vocabulary, first + part);
                         best[i] = kernels.sample(logits, largest, temperature, key, first, last);
                       }
                     });
  Choice choice;
  for (const Choice& candidate : best) {
    if (candidate.token < 0) continue;
    if (choice.token < 0 || candidate.score > choice.score) choice = candidate;
  }
  return std::max(choice.token, 0);
}

void select(Device& device, const KernelTable& kernels, const SelectDescriptor& descriptor,
            const SelectArgs& args, int rows) {
  const BatchInputs& batch = args.batch;
  const int used = true_rows(batch, rows);
  for (int row = 0; row < used; ++row) {
    if (!chooses(batch, row)) continue;
    const float* logits = args.logits + std::int64_t{row} * descriptor.vocabulary;
    const Choice greedy = kernels.largest(logits, descriptor.vocabulary);
    const float temperature = batch.temperatures == nullptr ? 0 : batch.temperatures[row];
    if (!(temperature > 0) || greedy.token < 0 || !std::isfinite(greedy.score)) {
      args.next[row] = std::max(greedy.token, 0);
      continue;
    }
    const auto key =
        sampling_key(batch.seeds == nullptr ? 0 : batch.seeds[row], batch.positions[row]);
    args.next[row] =
        sample(device, kernels, logits, descriptor.vocabulary, greedy.score, temperature, key);
  }
}

class SimdPrimitives final : public Primitives {
 public:
  SimdPrimitives(Device& device, const KernelTable& kernels)
      : device_(&device), kernels_(&kernels) {}

  DType activation_dtype(DType) const override { return DType::f32; }
  DType cache_dtype(DType) const override { return DType::f32; }

  Weight load(std::span<const HostTensor> parts, WeightUse use, Stream& stream) override {
    return load_host_weight(parts, use, stream);
  }
  Weight random(std::span<const RandomPart> parts, std::int64_t cols, DType dtype,
                std::uint64_t seed, float deviation, WeightUse use, Stream& stream) override {
    return random_host_weight(parts, cols, dtype, seed, deviation, use, stream,
                              kernels_->fill_random);
  }

  void embed(const EmbedDescriptor& descriptor, const EmbedArgs& args, int rows,
             Stream& stream) override {
    host::enqueue(stream, "embed",
                  [kernels = kernels_, table = view_of(descriptor.table), args, rows] {
                    reprise::embed(*kernels, table, args, rows);
                  });
  }

  void rms_norm(const RmsNormArgs& args, Stream& stream) override {
    need_f32(args.out_dtype, "norm: the output");
    for_rows(stream, "norm", args.rows, args.width,
             [kernels = kernels_, args,
              weight = vector_of(args.weight, "norm: the weight")](std::int64_t row) {
               kernels->rms_norm(args.input + row * args.width, weight, args.eps,
                                 static_cast<float*>(args.out) + row * args.width, args.width);
             });
  }

  void matmul(const MatmulArgs& args, Stream& stream) override {
    need_f32(args.input_dtype, "matmul: the input");
    need_f32(args.out_dtype, "matmul: the output");
    const simd::MatmulTask task{.input = static_cast<const float*>(args.input),
                                .weight = view_of(args.weight),
                                .bias = vector_of(args.bias, "matmul: the bias"),
                                .out = static_cast<float*>(args.out),
                                .accumulate = args.accumulate,
                                .rows = args.rows};
    host::enqueue(stream, "matmul", [device = device_, kernels = kernels_, task] {
      const WeightView& weight = task.weight;
      const std::size_t least = std::max<std::size_t>(8, grain(weight.cols * task.rows));
      host::parallel_for(*device, static_cast<std::size_t>(weight.rows), least,
                         [&](std::size_t begin, std::size_t end) {
                           kernels->matmul(task, static_cast<std::int64_t>(begin),
                                           static_cast<std::int64_t>(end));
                         });
    });
  }

  void rotate_append(const RotateAppendArgs& args, Stream& stream) override {
    need_f32(args.q_dtype, "qkv: q");
    need_f32(args.cache.dtype, "qkv: the cache");
    const HeadGeometry& geometry = args.geometry;
    for_rows(stream, "rope", args.rows,
             std::int64_t{geometry.heads + geometry.kv_heads} * geometry.head_dim,
             [kernels = kernels_, args](std::int64_t row) {
               rotate_append_row(*kernels, args, static_cast<int>(row));
             });
  }

  void attend(const AttendDescriptor& descriptor, const AttendArgs& args, int rows,
              Stream& stream) override {
    need_f32(args.cache.dtype, "attend: the cache");
    // Head by head, so that a thread that takes several rows of a prompt reads one head's keys.
    host::enqueue(stream, "attend", [device = device_, kernels = kernels_, descriptor, args, rows] {
      const int used = true_rows(args.batch, rows);
      const auto height = static_cast<std::size_t>(rows);
      const auto items = static_cast<std::size_t>(descriptor.geometry.kv_heads) * height;
      const std::size_t least = std::clamp<std::size_t>(height / 4, 1, simd::AttendTask::kMaxRows);
      host::parallel_for(*device, items, least, [&](std::size_t begin, std::size_t end) {
        while (begin < end) {
          const std::size_t head = begin / height;
          const std::size_t stop = std::min(end, (head + 1) * height);
          attend_rows(*kernels, descriptor, args, static_cast<int>(head),
                      static_cast<int>(begin % height), static_cast<int>(stop - head * height),
                      used);
          begin = stop;
        }
      });
    });
  }

  void silu_mul(const SiluMulArgs& args, Stream& stream) override {
    need_f32(args.out_dtype, "silu: the output");
    for_rows(stream, "silu", args.rows, args.width * std::int64_t{8},
             [kernels = kernels_, args](std::int64_t row) {
               const float* gate = args.gate_up + 2 * row * args.width;
               kernels->silu_mul(gate, gate + args.width,
                                 static_cast<float*>(args.out) + row * args.width, args.width);
             });
  }

  void select(const SelectDescriptor& descriptor, const SelectArgs& args, int rows,
              Stream& stream) override {
    host::enqueue(stream, "select", [device = device_, kernels = kernels_, descriptor, args, rows] {
      reprise::select(*device, *kernels, descriptor, args, rows);
    });
  }
  void count_up(std::uint32_t* counter, Stream& stream) override {
    host::enqueue(stream, "count_up", [counter] { ++*counter; });
  }
  void read_all(const void* data, std::size_t bytes, std::uint32_t* sink, Stream& stream) override {
    simd::enqueue_read_all(*device_, data, bytes, sink, stream);
  }

 private:
  /// Enqueues body(row) for each row, shared out among threads where that pays.
  template <class Body>
  void for_rows(Stream& stream, const char* label, int rows, std::int64_t work, Body body) {
    host::enqueue(stream, label, [device = device_, rows, work, body] {
      host::parallel_for(*device, static_cast<std::size_t>(rows), grain(work),
                         [&](std::size_t begin, std::size_t end) {
                           for (std::size_t row = begin; row < end; ++row) {
                             body(static_cast<std::int64_t>(row));
                           }
                         });
    });
  }

  Device* device_;
  const KernelTable* kernels_;
};

}  // namespace

bool simd_level_usable(SimdLevel level) noexcept {
#if defined(__x86_64__)
  if (level == SimdLevel::avx512) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  }
  if (level == SimdLevel::avx2) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
  }
#endif
  return level == SimdLevel::scalar || level == SimdLevel::best;
}

std::unique_ptr<Primitives> make_simd_primitives(Device& device, SimdLevel level) {
  return std::make_unique<SimdPrimitives>(device, kernels_of(level));
}

}  // namespace reprise
