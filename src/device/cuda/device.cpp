// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/device.h"

#include <algorithm>

#include <fmt/format.h>

#include "device/cuda/driver.h"
#include "device/cuda/event.h"
#include "device/cuda/nvtx.h"
#include "device/cuda/status.h"
#include "device/cuda/stream.h"

namespace reprise {

std::unique_ptr<DeviceState> open_cuda_backend(int ordinal) {
  return std::make_unique<cuda::CudaDevice>(ordinal);
}

namespace cuda {
namespace {

struct DeviceCount {
  int count = 0;
  cudaError_t status = cudaSuccess;
  std::string reason;  ///< why there is none
};

DeviceCount count_devices() {
  DeviceCount found;
  found.status = cudaGetDeviceCount(&found.count);
  if (found.status == cudaSuccess && found.count > 0) return found;
  found.count = 0;
  cudaGetLastError();
  // Where there is no driver at all, the runtime calls it too old.
  int driver = 0;
  const bool asked = cudaDriverGetVersion(&driver) == cudaSuccess;
  if (!asked) cudaGetLastError();
  if (asked && driver == 0) {
    found.reason = "no NVIDIA driver is installed";
  } else {
    found.reason = found.status == cudaSuccess ? "the driver counts no device"
                                               : "the driver says " + describe(found.status);
  }
  return found;
}

void require_device(int ordinal) {
  const auto [count, status, reason] = count_devices();
  if (count == 0) {
    throw DeviceError(fmt::format("no CUDA device: {}; use --device host", reason),
                      static_cast<int>(status));
  }
  if (ordinal < 0 || ordinal >= count) {
    throw DeviceError(
        fmt::format("device cuda:{} is not there; this machine has {} CUDA device{}, "
                    "counted from cuda:0",
                    ordinal, count, count == 1 ? "" : "s"));
  }
}

}  // namespace

CudaDevice::CudaDevice(int ordinal) {
  require_device(ordinal);
  properties.kind = DeviceKind::cuda;
  properties.ordinal = ordinal;
  check(cudaSetDevice(ordinal), *this, "Device::open");
  const RelaxedGuard relaxed;  // after it: the guard may make a context for the current device
  check(cudaFree(nullptr), *this, "Device::open");  // makes the context now, not at the first use
  cudaDeviceProp found{};
  check(cudaGetDeviceProperties(&found, ordinal), *this, "Device::open");
  properties.name = found.name;
  properties.driver = driver_version();
  properties.total_memory = found.totalGlobalMem;
  properties.multiprocessors = found.multiProcessorCount;
  properties.compute_capability = found.major * 10 + found.minor;
  profiled = nvtx::attached();
}

MemoryInfo CudaDevice::memory_info() const {
  auto& self = const_cast<CudaDevice&>(*this);  // a failure may lose the device
  check(cudaSetDevice(properties.ordinal), self, "Device::memory_info");
  const RelaxedGuard relaxed;
  MemoryInfo info;
  check(cudaMemGetInfo(&info.free, &info.total), self, "Device::memory_info");
  return info;
}

void* CudaDevice::allocate(std::size_t bytes, MemorySpace space) {
  const std::string_view call =
      space == MemorySpace::pinned ? "Device::allocate_pinned" : "Device::allocate";
  check(cudaSetDevice(properties.ordinal), *this, call);
  const std::size_t size = std::max<std::size_t>(bytes, 1);  // never null
  void* data = nullptr;
  const cudaError_t status =
      space == MemorySpace::pinned ? cudaMallocHost(&data, size) : cudaMalloc(&data, size);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    if (space == MemorySpace::device) fail_without_memory(bytes, status);
    throw OutOfMemory(
        fmt::format("{} bytes of pinned host memory were asked for and the system did not give "
                    "them; ask for less, or free some",
                    bytes),
        static_cast<int>(status));
  }
  check(status, *this, call);
  return data;
}

void CudaDevice::free(void* data, std::size_t, MemorySpace space) noexcept {
  cudaSetDevice(properties.ordinal);
  const RelaxedGuard relaxed;
  // cudaFree waits by itself. Not so, or not by contract, cudaFreeHost.
  if (space == MemorySpace::pinned) wait_for_work();
  note_failed_release(space == MemorySpace::pinned ? cudaFreeHost(data) : cudaFree(data));
}

bool CudaDevice::wait_for_work() noexcept {
  bool all = true;
  for (const auto& stream : live_streams()) {
    all = static_cast<CudaStream&>(*stream).wait_quietly() && all;
  }
  return all;
}

void CudaDevice::fail_without_memory(std::size_t bytes, cudaError_t status) const {
  const MemoryInfo info = memory_info();
  throw OutOfMemory(
      fmt::format("{} bytes of cuda device memory were asked for, {} of {} are free; ask for "
                  "less, or free some",
                  bytes, info.free, info.total),
      static_cast<int>(status));
}

void CudaDevice::note_failed_release(cudaError_t status) noexcept {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  if (!is_sticky(status)) return;
  try {
    mark_lost(fmt::format("freeing memory on device {}: {}", label(), describe(status)),
              static_cast<int>(status));
  } catch (const std::exception&) {
    // No memory for the text: the next call on the device meets the same error and says so.
  }
}

std::shared_ptr<StreamState> CudaDevice::create_stream(std::string name) {
  return std::make_shared<CudaStream>(*this, std::move(name), false);
}

std::shared_ptr<StreamState> CudaDevice::create_default_stream() {
  return std::make_shared<CudaStream>(*this, "default", true);
}

std::unique_ptr<EventState> CudaDevice::create_event() {
  return std::make_unique<CudaEvent>(*this);
}

}  // namespace cuda

CudaPresence cuda_presence() {
  const cuda::DeviceCount found = cuda::count_devices();
  return {.built = true, .usable = found.count > 0, .reason = found.reason};
}

}  // namespace reprise
