// SPDX-License-Identifier: Apache-2.0
// The host device: streams on worker threads, memory of the process.
#pragma once

#include <memory>
#include <string>

#include <reprise/host.h>

#include "device/backend.h"
#include "device/host/address_space.h"
#include "device/host/memory.h"
#include "device/host/thread_pool.h"

namespace reprise::host {

class HostDevice final : public DeviceState {
 public:
  explicit HostDevice(const HostOptions& options);

  MemoryInfo memory_info() const override { return memory_.info(); }
  void* allocate(std::size_t bytes, MemorySpace space) override;
  void free(void* data, std::size_t bytes, MemorySpace space) noexcept override;
  std::size_t mapping_granularity() override { return kMappingGranularity; }
  void* reserve_addresses(std::size_t bytes) override { return host::reserve_addresses(bytes); }
  void release_addresses(void* data, std::size_t bytes,
                         const MappingTable& mapped) noexcept override;
  void map(void* address, std::size_t bytes) override { memory_.map(address, bytes); }
  void unmap(void* address, std::size_t bytes) override { memory_.unmap(address, bytes); }
  bool wait_for_work() noexcept override;
  std::shared_ptr<StreamState> create_stream(std::string name) override;
  std::shared_ptr<StreamState> create_default_stream() override;
  std::unique_ptr<EventState> create_event() override;

  ThreadPool& pool() noexcept { return pool_; }

 private:
  Memory memory_;
  ThreadPool pool_;
};

}  // namespace reprise::host
