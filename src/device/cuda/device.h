// SPDX-License-Identifier: Apache-2.0
// A CUDA device: its primary context, memory by plain allocations and by mapping, non-blocking
// streams.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

#include "device/backend.h"
#include "device/cuda/nvtx.h"

namespace reprise::cuda {

class CudaDevice final : public DeviceState {
 public:
  /// Makes the context. Throws DeviceError where there is no such device.
  explicit CudaDevice(int ordinal);

  MemoryInfo memory_info() const override;
  void* allocate(std::size_t bytes, MemorySpace space) override;
  void free(void* data, std::size_t bytes, MemorySpace space) noexcept override;
  // address_space.cpp
  std::size_t mapping_granularity() override;
  void* reserve_addresses(std::size_t bytes) override;
  void release_addresses(void* data, std::size_t bytes,
                         const MappingTable& mapped) noexcept override;
  void map(void* address, std::size_t bytes) override;
  void unmap(void* address, std::size_t bytes) override;
  bool wait_for_work() noexcept override;
  std::shared_ptr<StreamState> create_stream(std::string name) override;
  std::shared_ptr<StreamState> create_default_stream() override;
  std::unique_ptr<EventState> create_event() override;
  const void* register_range(const std::string& name) override { return nvtx::name(name); }
  void push_range(const void* registered) noexcept override { nvtx::push(registered); }
  void push_range(std::string_view name) override { nvtx::push(name); }
  void pop_range() noexcept override { nvtx::pop(); }

 private:
  [[noreturn]] void fail_without_memory(std::size_t bytes, cudaError_t status) const;
  /// A failure of giving memory back: nobody to tell, but a sticky one loses the device.
  void note_failed_release(cudaError_t status) noexcept;
};

}  // namespace reprise::cuda
