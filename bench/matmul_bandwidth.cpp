// SPDX-License-Identifier: Apache-2.0
// How fast the host's matrix product streams weights, beside a plain read of the same memory:
//
//   matmul_bandwidth [rows ...]        default 1 2 4 8 16 64 256
//
// The weights are larger than the caches, so a product of few rows can be no faster than the read.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <reprise/host.h>

#include "kernels/composed_ops.h"

namespace reprise {
namespace {

constexpr std::int64_t kOutputs = 65536;
constexpr std::int64_t kInputs = 4096;

/// Wall time, and processor time of all threads: where they lie far apart the machine was busy with
/// something else, and only the second tells anything.
struct Seconds {
  double wall = 1e9;
  double cpu = 1e9;
};

Seconds seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

/// Best of several runs: neighbours on the machine can only make a run slower.
Seconds best_seconds(int repeats, const std::function<void()>& work) {
  Seconds best;
  for (int i = 0; i < repeats; ++i) {
    const Seconds run = seconds(work);
    best = {std::min(best.wall, run.wall), std::min(best.cpu, run.cpu)};
  }
  return best;
}

/// In the widest registers, and as eight streams, which the processor fetches ahead better than
/// one: only memory shall be the limit.
#if defined(__x86_64__)
[[gnu::target_clones("avx512f", "avx2", "default")]]
#endif
std::uint64_t
sum_of(const std::uint64_t* words, std::size_t count) {
  constexpr std::size_t kStreams = 8;
  constexpr std::size_t kLine = 8;
  std::uint64_t sums[kStreams][kLine] = {};
  const std::size_t length = count / kStreams / kLine * kLine;
  for (std::size_t at = 0; at < length; at += kLine) {
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      for (std::size_t i = 0; i < kLine; ++i) sums[stream][i] += words[stream * length + at + i];
    }
  }
  std::uint64_t total = 0;
  for (const auto& stream : sums) {
    for (const std::uint64_t sum : stream) total += sum;
  }
  return total;
}

void plain_read(Device& device, Stream& stream, const Weight& weight) {
  const auto* words = static_cast<const std::uint64_t*>(weight.parts[0].data);
  std::atomic<std::uint64_t> total{0};
  host::enqueue(stream, "read", [&] {
    host::parallel_for(device, weight.bytes() / 8, 1 << 20, [&](std::size_t from, std::size_t to) {
      total += sum_of(words + from, to - from);
    });
  });
  stream.synchronize();
  if (total == 42) std::puts("");  // keeps the sum alive
}

void bench(DType dtype, const std::vector<int>& row_counts) {
  const auto device = Device::open("host");
  Stream stream = device->create_stream("bench");
  const auto primitives = make_simd_primitives(*device);
  const RandomPart part{.name = "weight", .rows = kOutputs};
  Weight weight;
  const Seconds fill = seconds([&] {
    weight = primitives->random({&part, 1}, kInputs, dtype, 1, 0.02f, WeightUse::matrix, stream);
  });
  const double gb = static_cast<double>(weight.bytes()) / 1e9;
  const Seconds read = best_seconds(10, [&] { plain_read(*device, stream, weight); });
  std::printf("%s: %.2f GB of weights on %d threads\n", std::string(to_string(dtype)).c_str(), gb,
              device->properties().multiprocessors);
  std::printf("             wall ms     cpu ms      GB/s  of the read   GFLOP/s\n");
  std::printf("  fill     %9.2f  %9.2f  %8.2f\n", fill.wall * 1e3, fill.cpu * 1e3, gb / fill.wall);
  std::printf("  read     %9.2f  %9.2f  %8.2f\n", read.wall * 1e3, read.cpu * 1e3, gb / read.wall);
  for (const int rows : row_counts) {
    const std::vector<float> input(static_cast<std::size_t>(rows * kInputs), 0.5f);
    std::vector<float> out(static_cast<std::size_t>(rows * kOutputs));
    const Seconds time = best_seconds(rows > 16 ? 3 : 10, [&] {
      primitives->matmul(
          {.input = input.data(), .weight = &weight, .out = out.data(), .rows = rows}, stream);
      stream.synchronize();
    });
    std::printf("  rows %4d %9.2f  %9.2f  %8.2f  %8.0f %%  %10.1f\n", rows, time.wall * 1e3,
                time.cpu * 1e3, gb / time.wall, 100 * read.wall / time.wall,
                2e-9 * rows * kInputs * kOutputs / time.wall);
  }
}

}  // namespace
}  // namespace reprise

int main(int count, char** words) {
  std::vector<int> rows;
  for (int i = 1; i < count; ++i) rows.push_back(std::atoi(words[i]));
  if (rows.empty()) rows = {1, 2, 4, 8, 16, 64, 256};
  for (const auto dtype : {reprise::DType::bf16}) reprise::bench(dtype, rows);
  return 0;
}
