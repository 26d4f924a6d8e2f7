// SPDX-License-Identifier: Apache-2.0
// What the jitter is for: it must bring to light a kernel that declares a wait and makes none.
#include <cstdint>
#include <span>

#include <gtest/gtest.h>

#include <reprise/cuda_launch.h>
#include <reprise/device.h>

#include "kernels/cuda/pdl.cuh"

namespace reprise::test {
namespace {

using cuda_kernels::before_last_store;
using cuda_kernels::let_consumer_start;
using cuda_kernels::wait_for_producer;

constexpr unsigned kBlocks = 64;
constexpr unsigned kThreads = 128;
constexpr int kRounds = 1000;

__device__ unsigned thread_index() { return blockIdx.x * kThreads + threadIdx.x; }

__global__ void produce_kernel(std::uint32_t* values, std::uint32_t round) {
  let_consumer_start();
  wait_for_producer();
  before_last_store();
  values[thread_index()] = round;
}

/// Counts the values that are not yet there.
template <bool kWaits>
__global__ void consume_kernel(const volatile std::uint32_t* values, std::uint32_t round,
                               std::uint32_t* missing) {
  let_consumer_start();
  if constexpr (kWaits) wait_for_producer();
  if (values[thread_index()] != round) atomicAdd(missing, 1);
}

template <bool kWaits>
std::uint32_t missing_values() {
  const auto device = Device::open("cuda");
  Stream stream = device->create_stream("chain");
  Buffer values = device->allocate(kBlocks * kThreads * sizeof(std::uint32_t), "values");
  Buffer missing = device->allocate(sizeof(std::uint32_t), "missing");
  stream.fill(values.view(), 0);
  stream.fill(missing.view(), 0);
  const cuda::LaunchShape shape{.grid = kBlocks, .block = kThreads};
  const LaunchDeclaration declared{.programmatic = true, .waits = true, .triggers_early = true};
  auto* const data = static_cast<std::uint32_t*>(values.data());
  auto* const count = static_cast<std::uint32_t*>(missing.data());
  for (int i = 1; i <= kRounds; ++i) {
    const auto round = static_cast<std::uint32_t>(i);
    cuda::launch(stream, "produce", produce_kernel, shape, declared, data, round);
    cuda::launch(stream, "consume", consume_kernel<kWaits>, shape, declared, data, round, count);
  }
  std::uint32_t found = 0;
  missing.to_host(stream, std::as_writable_bytes(std::span(&found, 1)));
  return found;
}

TEST(JitterItself, FindsAMissingWait) {
  if (!cuda::has_programmatic_launch(*Device::open("cuda"))) {
    GTEST_SKIP() << "programmatic launch needs compute capability 9.0";
  }
  EXPECT_GT(missing_values<false>(), 0u);
  EXPECT_EQ(missing_values<true>(), 0u);
}

}  // namespace
}  // namespace reprise::test
