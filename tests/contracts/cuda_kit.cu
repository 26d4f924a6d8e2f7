// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include <cuda_runtime.h>

#include <reprise/cuda.h>
#include <reprise/cuda_launch.h>

#include "contracts/kit.h"

namespace reprise::contract {
namespace {

__device__ std::size_t thread_index() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }

__global__ void add_kernel(float* x, std::size_t n, float c) {
  if (const std::size_t i = thread_index(); i < n) x[i] += c;
}

__global__ void add_waiting_kernel(float* x, std::size_t n, float c) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if (const std::size_t i = thread_index(); i < n) x[i] += c;
}

__global__ void axpy_kernel(float* y, const float* x, std::size_t n, float a) {
  if (const std::size_t i = thread_index(); i < n) y[i] += a * x[i];
}

__global__ void copy_scaled_kernel(float* y, const float* x, std::size_t n, float a) {
  if (const std::size_t i = thread_index(); i < n) y[i] = a * x[i];
}

__global__ void add_at_kernel(float* x, const std::uint32_t* index, std::size_t stride,
                              std::size_t n, float c) {
  if (const std::size_t i = thread_index(); i < n) x[*index * stride + i] += c;
}

__global__ void fill_index_kernel(float* x, std::size_t n) {
  if (const std::size_t i = thread_index(); i < n) x[i] = static_cast<float>(i);
}

__global__ void add_integer_kernel(std::int32_t* x, std::int32_t c) { *x += c; }

__global__ void wait_for_flag_kernel(const volatile std::uint32_t* flag) {
  // A test that forgot to open its gate is to fail, not to hang.
  constexpr int kMostRounds = 20'000'000;
  for (int round = 0; *flag == 0; ++round) {
    if (round > kMostRounds) __trap();
    __nanosleep(1000);
  }
  __threadfence_system();
}

__global__ void fault_kernel() { __trap(); }

constexpr unsigned kThreads = 128;

unsigned blocks_for(std::size_t n) { return static_cast<unsigned>((n + kThreads - 1) / kThreads); }

/// A kernel is loaded at its first launch unless somebody asks for it before; that takes device
/// memory, which the tests count, and has no place inside a recording.
void load_kernels() {
  for (const void* kernel :
       {reinterpret_cast<const void*>(add_kernel), reinterpret_cast<const void*>(axpy_kernel),
        reinterpret_cast<const void*>(add_waiting_kernel),
        reinterpret_cast<const void*>(copy_scaled_kernel),
        reinterpret_cast<const void*>(add_at_kernel),
        reinterpret_cast<const void*>(fill_index_kernel),
        reinterpret_cast<const void*>(add_integer_kernel),
        reinterpret_cast<const void*>(wait_for_flag_kernel),
        reinterpret_cast<const void*>(fault_kernel)}) {
    cudaFuncAttributes attributes{};
    const cudaError_t status = cudaFuncGetAttributes(&attributes, kernel);
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
  }
}

class CudaKit final : public Kit {
 public:
  std::shared_ptr<Device> open() override {
    auto device = Device::open("cuda");
    load_kernels();
    return device;
  }

  void add(Stream& stream, float* x, std::size_t n, float c, std::string_view label) override {
    cuda::enqueue(stream, label, [=](cudaStream_t native) {
      add_kernel<<<blocks_for(n), kThreads, 0, native>>>(x, n, c);
    });
  }
  void add_declared(Stream& stream, float* x, std::size_t n, float c,
                    const LaunchDeclaration& declaration, std::string_view label) override {
    cuda::launch(stream, label, add_waiting_kernel, {.grid = blocks_for(n), .block = kThreads},
                 declaration, x, n, c);
  }
  void axpy(Stream& stream, float* y, const float* x, std::size_t n, float a) override {
    cuda::enqueue(stream, "axpy", [=](cudaStream_t native) {
      axpy_kernel<<<blocks_for(n), kThreads, 0, native>>>(y, x, n, a);
    });
  }
  void copy_scaled(Stream& stream, float* y, const float* x, std::size_t n, float a) override {
    cuda::enqueue(stream, "copy_scaled", [=](cudaStream_t native) {
      copy_scaled_kernel<<<blocks_for(n), kThreads, 0, native>>>(y, x, n, a);
    });
  }
  void add_at(Stream& stream, float* x, const std::uint32_t* index, std::size_t stride,
              std::size_t n, float c) override {
    cuda::enqueue(stream, "add_at", [=](cudaStream_t native) {
      add_at_kernel<<<blocks_for(n), kThreads, 0, native>>>(x, index, stride, n, c);
    });
  }
  void fill_index(Stream& stream, float* x, std::size_t n) override {
    cuda::enqueue(stream, "fill_index", [=](cudaStream_t native) {
      fill_index_kernel<<<blocks_for(n), kThreads, 0, native>>>(x, n);
    });
  }
  void add_integer(Stream& stream, std::int32_t* x, std::int32_t c) override {
    cuda::enqueue(stream, "add_integer",
                  [=](cudaStream_t native) { add_integer_kernel<<<1, 1, 0, native>>>(x, c); });
  }
  void wait_for_flag(Stream& stream, std::uint32_t* flag) override {
    cuda::enqueue(stream, "wait_for_flag",
                  [=](cudaStream_t native) { wait_for_flag_kernel<<<1, 1, 0, native>>>(flag); });
  }
  bool can_invalidate_recording() const override { return true; }
  void invalidate_recording(Stream& stream) override {
    std::thread([native = cuda::native(stream)] {
      if (cudaStreamSynchronize(native) == cudaSuccess) std::abort();  // it is what CUDA forbids
      cudaGetLastError();
    }).join();
  }
  // A fault takes the process's context with it: tests/device/cuda/ loses devices in processes of
  // their own.
  bool can_lose_device() const override { return false; }
  void lose_device(Stream& stream, std::string_view) override {
    cuda::enqueue(stream, "fault",
                  [](cudaStream_t native) { fault_kernel<<<1, 1, 0, native>>>(); });
  }
};

}  // namespace

std::unique_ptr<Kit> make_kit() { return std::make_unique<CudaKit>(); }

}  // namespace reprise::contract
