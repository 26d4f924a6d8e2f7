// SPDX-License-Identifier: Apache-2.0
// A kernel of one's own as a recorded step: launched on the stream's native handle, replayed with
// inputs that change, and compared with a plain loop.
#include <cstdio>
#include <vector>

#include <reprise/cuda.h>
#include <reprise/graph_runner.h>

namespace {

constexpr int kCount = 1000;

__global__ void axpy(float* y, const float* x, const float* a, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) y[i] += *a * x[i];
}

reprise::Step axpy_step() {
  reprise::Step step;
  step.name = "axpy";
  // `a` changes from replay to replay, so it lies on the device: a kernel argument passed by value
  // would be frozen at what it was while recording.
  step.bindings = {
      {.name = "a", .per_row = false},
      {.name = "x", .row = {kCount}, .per_row = false},
      {.name = "y", .kind = reprise::BindingKind::state, .row = {kCount}, .per_row = false},
  };
  step.run = [](reprise::StepContext& context) {
    auto* const y = context.tensor("y").as<float>();
    const auto* x = context.tensor("x").as<float>();
    const auto* a = context.tensor("a").as<float>();
    reprise::cuda::enqueue(context.stream(), "axpy", [=](cudaStream_t native) {
      axpy<<<(kCount + 255) / 256, 256, 0, native>>>(y, x, a, kCount);
    });
  };
  return step;
}

}  // namespace

int main() {
  const auto device = reprise::Device::open("cuda");
  reprise::Stream stream = device->create_stream("set-up");
  std::vector<float> x(kCount);
  std::vector<float> expected(kCount, 1.0F);
  for (int i = 0; i < kCount; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i % 64);
  reprise::Buffer y = device->allocate(kCount * sizeof(float), "y");
  y.from_host(stream, std::as_bytes(std::span<const float>(expected)));

  float a = 2;
  reprise::TensorView scale = reprise::host_tensor(std::span<const float>(&a, 1));
  scale.shape = {};
  const reprise::TensorView values = reprise::host_tensor(std::span<const float>(x));
  reprise::GraphRunner runner(device, axpy_step());
  runner.capture({{"a", scale}, {"x", values}, {"y", y.tensor(reprise::DType::f32, {kCount})}});
  for (a = 1; a <= 4; ++a) runner.replay({{"a", scale}});

  // Whole numbers below 2^24: the order of the sums does not matter.
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += (1 + 2 + 3 + 4) * x[i];
  std::vector<float> result(kCount);
  y.to_host(runner.stream(), std::as_writable_bytes(std::span(result)));
  std::printf("4 replays of %zu node: %s\n", runner.graph().node_count(),
              result == expected ? "as the plain loop" : "NOT as the plain loop");
  return result == expected ? 0 : 1;
}
