// SPDX-License-Identifier: Apache-2.0
// Address ranges of a CUDA device: reserved once, memory mapped in and out by the driver's
// virtual-memory calls. One piece of memory per map(); the driver unmaps pieces whole only.
#include <cstdint>

#include <fmt/format.h>

#include "device/cuda/device.h"
#include "device/cuda/driver.h"
#include "device/cuda/status.h"
#include "device/mapping_table.h"

namespace reprise::cuda {
namespace {

CUmemAllocationProp memory_of(int ordinal) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = ordinal;
  return wanted;
}

CUdeviceptr to_driver(const void* address) {
  return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(address));
}

[[noreturn]] void fail_unsupported(const DeviceState& device, std::string_view what) {
  throw DeviceError(
      fmt::format("device {} has no virtual-memory management: {}; address ranges cannot be "
                  "reserved on it, use plain allocations (Device::allocate)",
                  device.label(), what));
}

bool supports_virtual_memory(DeviceState& device, const DriverCalls& driver) {
  constexpr auto kAttribute = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
  CUdevice handle = 0;
  int supported = 0;
  check(to_runtime(driver.device_get(&handle, device.properties.ordinal)), device,
        "Device::reserve");
  check(to_runtime(driver.device_get_attribute(&supported, kAttribute, handle)), device,
        "Device::reserve");
  return supported != 0;
}

/// Either all of it or nothing.
cudaError_t map_fresh(CUdeviceptr address, std::size_t bytes, int ordinal) {
  const DriverCalls& driver = DriverCalls::get();
  const CUmemAllocationProp wanted = memory_of(ordinal);
  CUmemGenericAllocationHandle memory{};
  CUresult status = driver.mem_create(&memory, bytes, &wanted, 0);
  if (status != CUDA_SUCCESS) return to_runtime(status);
  status = driver.mem_map(address, bytes, 0, memory, 0);
  // From here on the mapping alone keeps the memory, or nothing does.
  const CUresult released = driver.mem_release(memory);
  if (status != CUDA_SUCCESS) return to_runtime(status);
  CUmemAccessDesc access{};
  access.location = wanted.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  status = driver.mem_set_access(address, bytes, &access, 1);
  if (status == CUDA_SUCCESS) status = released;
  if (status != CUDA_SUCCESS) driver.mem_unmap(address, bytes);
  return to_runtime(status);
}

}  // namespace

std::size_t CudaDevice::mapping_granularity() {
  constexpr std::string_view kCall = "Device::reserve";
  check(cudaSetDevice(properties.ordinal), *this, kCall);
  const RelaxedGuard relaxed;
  const DriverCalls& driver = DriverCalls::get();
  if (!driver.has_virtual_memory()) fail_unsupported(*this, "the driver is too old for it");
  if (!supports_virtual_memory(*this, driver)) fail_unsupported(*this, "the driver says so");
  const CUmemAllocationProp wanted = memory_of(properties.ordinal);
  std::size_t granularity = 0;
  check(to_runtime(driver.mem_get_allocation_granularity(&granularity, &wanted,
                                                         CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)),
        *this, kCall);
  return granularity;
}

void* CudaDevice::reserve_addresses(std::size_t bytes) {
  constexpr std::string_view kCall = "Device::reserve";
  const std::size_t alignment = mapping_granularity();
  const RelaxedGuard relaxed;
  CUdeviceptr address = 0;
  const cudaError_t status =
      to_runtime(DriverCalls::get().mem_address_reserve(&address, bytes, alignment, 0, 0));
  if (status == cudaErrorMemoryAllocation || status == cudaErrorInvalidValue) {
    throw DeviceError(fmt::format("device {} has no stretch of {} bytes of addresses ({}); "
                                  "reserve less",
                                  label(), bytes, describe(status)),
                      static_cast<int>(status));
  }
  check(status, *this, kCall);
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

void CudaDevice::release_addresses(void* data, std::size_t bytes,
                                   const MappingTable& mapped) noexcept {
  cudaSetDevice(properties.ordinal);
  const RelaxedGuard relaxed;
  const DriverCalls& driver = DriverCalls::get();
  const CUdeviceptr base = to_driver(data);
  for (const auto& [offset, size] : mapped.all()) {
    note_failed_release(to_runtime(driver.mem_unmap(base + offset, size)));
  }
  note_failed_release(to_runtime(driver.mem_address_free(base, bytes)));
}

void CudaDevice::map(void* address, std::size_t bytes) {
  constexpr std::string_view kCall = "AddressRange::map";
  check(cudaSetDevice(properties.ordinal), *this, kCall);
  const RelaxedGuard relaxed;
  const cudaError_t status = map_fresh(to_driver(address), bytes, properties.ordinal);
  if (status == cudaErrorMemoryAllocation) fail_without_memory(bytes, status);
  check(status, *this, kCall);
}

void CudaDevice::unmap(void* address, std::size_t bytes) {
  constexpr std::string_view kCall = "AddressRange::unmap";
  check(cudaSetDevice(properties.ordinal), *this, kCall);
  const RelaxedGuard relaxed;
  check(to_runtime(DriverCalls::get().mem_unmap(to_driver(address), bytes)), *this, kCall);
}

}  // namespace reprise::cuda
