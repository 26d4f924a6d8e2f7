// SPDX-License-Identifier: Apache-2.0
// A chain of kernels that start before the one before them has ended (docs/guide/
// programmatic-launch.md), recorded, replayed and compared with a plain loop.
#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

#include <reprise/cuda_launch.h>
#include <reprise/graph.h>

namespace {

constexpr int kCount = 1024;
constexpr int kChain = 16;
constexpr int kReplays = 100;

// [kernel]
__global__ void multiply(const float* weights, float* x) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");  // the next kernel may start
  asm volatile("prefetch.global.L2 [%0];" ::"l"(weights + i));     // nobody writes the weights
  asm volatile("griddepcontrol.wait;" ::: "memory");               // those before this are done
#endif
  x[i] = x[i] * weights[i] + 1;
}
// [/kernel]

void record_chain(reprise::Stream& stream, const reprise::Buffer& weights_buffer,
                  const reprise::Buffer& x_buffer) {
  const auto* weights = static_cast<const float*>(weights_buffer.data());
  auto* const x = static_cast<float*>(x_buffer.data());
  const reprise::DeclaredRange early{
      .data = weights, .bytes = weights_buffer.bytes(), .label = "weights"};
  const reprise::DeclaredRange written{.data = x, .bytes = x_buffer.bytes(), .label = "x"};
  const reprise::LaunchDeclaration declaration{.programmatic = true,
                                               .waits = true,
                                               .triggers_early = true,
                                               .prefetches = {&early, 1},
                                               .writes = {&written, 1}};
  for (int i = 0; i < kChain; ++i) {
    // [launch]
    reprise::cuda::launch(stream, "multiply", multiply, {.grid = kCount / 128, .block = 128},
                          declaration, weights, x);
    // [/launch]
  }
}

}  // namespace

int main() {
  const auto device = reprise::Device::open("cuda");
  reprise::Stream stream = device->create_stream("main");
  const std::vector<float> halves(kCount, 0.5F);
  std::vector<float> values(kCount, 8.0F);
  reprise::Buffer weights = device->allocate(kCount * sizeof(float), "weights");
  reprise::Buffer x = device->allocate(kCount * sizeof(float), "x");
  weights.from_host(stream, std::as_bytes(std::span(halves)));
  x.from_host(stream, std::as_bytes(std::span<const float>(values)));
  const reprise::Graph graph = reprise::capture(stream, [&] { record_chain(stream, weights, x); });
  std::size_t early = 0;
  for (const reprise::GraphNode& node : graph.nodes()) early += node.programmatic.size();
  reprise::GraphExec exec = graph.instantiate();
  for (int i = 0; i < kReplays; ++i) exec.launch(stream);

  float expected = 8;
  for (int i = 0; i < kChain * kReplays; ++i) expected = expected * 0.5F + 1;
  x.to_host(stream, std::as_writable_bytes(std::span(values)));
  for (const float value : values) {
    if (value != expected) {
      std::printf("%g instead of %g\n", value, expected);
      return 1;
    }
  }
  const bool supported = reprise::cuda::has_programmatic_launch(*device);
  std::printf("%zu of %d kernels may start early, results as the plain loop\n", early, kChain);
  return early == (supported ? kChain - 1U : 0U) ? 0 : 1;
}
