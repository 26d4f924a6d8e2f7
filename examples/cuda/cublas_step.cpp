// SPDX-License-Identifier: Apache-2.0
// A product by cuBLAS as a recorded step, and the rule of its workspace: it is ours, given after
// the stream and before every recording. Left alone, cuBLAS takes workspace where it likes: while a
// stream records, that can be an allocation node (which this library refuses), or memory kept by
// the handle, in which the graph then replays while a later call on another stream writes it too.
// cublasSetStream puts the handle back on that default, so the order is: stream, workspace, call.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <cublas_v2.h>

#include <reprise/cuda.h>
#include <reprise/graph_runner.h>

namespace {

constexpr int kSize = 64;
constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // what NVIDIA advises for Hopper

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

reprise::Step product(cublasHandle_t handle) {
  reprise::Step step;
  step.name = "product";
  step.bindings = {{.name = "a", .row = {kSize, kSize}},
                   {.name = "b", .row = {kSize, kSize}},
                   {.name = "c", .kind = reprise::BindingKind::output, .row = {kSize, kSize}}};
  step.run = [handle](reprise::StepContext& context) {
    const auto* a = context.tensor("a").as<float>();
    const auto* b = context.tensor("b").as<float>();
    auto* const c = context.tensor("c").as<float>();
    void* const workspace = context.scratch(kWorkspace, "cuBLAS workspace");
    reprise::cuda::enqueue(context.stream(), "product", [=](cudaStream_t native) {
      check(cublasSetStream(handle, native));
      check(cublasSetWorkspace(handle, workspace, kWorkspace));
      const float one = 1;  // the host's pointer mode: the graph keeps these values
      const float zero = 0;
      check(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &one, a, kSize, b,
                        kSize, &zero, c, kSize));
    });
  };
  return step;
}

}  // namespace

int main() {
  const auto device = reprise::Device::open("cuda");
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle));  // never inside a recording: it allocates and may wait
  std::vector<float> a(kSize * kSize, 1.0F);
  std::vector<float> b(a.size()), c(a.size());
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7);
  reprise::TensorView left = reprise::host_tensor(std::span<const float>(a));
  reprise::TensorView right = reprise::host_tensor(std::span<const float>(b));
  left.shape = right.shape = {1, kSize, kSize};

  reprise::GraphRunner runner(device, product(handle));
  runner.capture({{"a", left}, {"b", right}});
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 5);
  runner.replay({{"a", left}});
  runner.read(runner.output("c"), std::span(c));
  cublasDestroy(handle);

  for (int i = 0; i < kSize * kSize; ++i) {  // by columns, as cuBLAS counts
    float sum = 0;                           // of whole numbers: the same in any order
    for (int k = 0; k < kSize; ++k) sum += a[k * kSize + i % kSize] * b[i / kSize * kSize + k];
    if (c[i] != sum) {
      std::printf("element %d is %g, not %g\n", i, c[i], sum);
      return 1;
    }
  }
  std::printf("a replayed product by cuBLAS: as the plain loops\n");
  return 0;
}
