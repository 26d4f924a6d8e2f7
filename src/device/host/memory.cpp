// SPDX-License-Identifier: Apache-2.0
#include "device/host/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <sys/mman.h>

#include <reprise/error.h>

#include "device/host/address_space.h"
#include "device/host/machine.h"

namespace reprise::host {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t rounded(std::size_t bytes) {
  return std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

void* map_huge(std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  // Best effort: fewer address translations for weights read once per step.
  madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

}  // namespace

Memory::Memory(std::size_t limit)
    : total_(limit == 0 ? total_memory() : std::min(limit, total_memory())) {}

MemoryInfo Memory::info() const {
  const std::lock_guard lock(mutex_);
  return {.free = std::min(total_ - used_, available_memory()), .total = total_};
}

// The system promises more than it has; large requests are held to what there is.
std::size_t Memory::free_locked(std::size_t wanted) const {
  const std::size_t free = total_ - used_;
  return wanted >= kHugeBytes && wanted <= free ? std::min(free, available_memory()) : free;
}

void Memory::fail(std::size_t bytes, std::size_t free) const {
  throw OutOfMemory(
      fmt::format("{} bytes of host device memory were asked for, {} of {} are free; ask for "
                  "less, or free some",
                  bytes, free, total_));
}

void* Memory::allocate(std::size_t bytes) {
  const std::size_t size = bytes <= total_ ? rounded(bytes) : bytes;
  const std::lock_guard lock(mutex_);
  const std::size_t free = free_locked(size);
  void* data = nullptr;
  if (size <= free) {
    data = size >= kHugeBytes ? map_huge(size) : std::aligned_alloc(kAlignment, size);
  }
  if (data == nullptr) fail(bytes, free);
  if (size < kHugeBytes) std::memset(data, kPoison, size);
  used_ += size;
  return data;
}

void Memory::free(void* data, std::size_t bytes) noexcept {
  const std::size_t size = rounded(bytes);
  if (size >= kHugeBytes) {
    munmap(data, size);
  } else {
    std::free(data);
  }
  const std::lock_guard lock(mutex_);
  used_ -= size;
}

void Memory::map(void* address, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const std::size_t free = free_locked(bytes);
    if (bytes > free || !commit(address, bytes)) fail(bytes, free);
    used_ += bytes;
  }
  if (bytes < kHugeBytes) std::memset(address, kPoison, bytes);
}

void Memory::unmap(void* address, std::size_t bytes) {
  decommit(address, bytes);
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
}

void Memory::release(void* data, std::size_t bytes, std::size_t mapped) noexcept {
  release_addresses(data, bytes);
  const std::lock_guard lock(mutex_);
  used_ -= mapped;
}

}  // namespace reprise::host
