// SPDX-License-Identifier: Apache-2.0
#include "device/host/address_space.h"

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <sys/mman.h>

#include <reprise/error.h>

namespace reprise::host {
namespace {

std::string system_text(int number) { return std::generic_category().message(number); }

/// Reserved one granule longer than needed, so that an aligned stretch lies inside.
void* aligned_stretch(std::byte* data, std::size_t bytes) noexcept {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(data) % kMappingGranularity;
  const std::size_t head = past == 0 ? 0 : kMappingGranularity - past;
  const std::size_t tail = kMappingGranularity - head;
  if (head != 0) munmap(data, head);
  if (tail != 0) munmap(data + head + bytes, tail);
  return data + head;
}

}  // namespace

void* reserve_addresses(std::size_t bytes) {
  void* data = MAP_FAILED;
  if (bytes <= SIZE_MAX - kMappingGranularity) {
    data = mmap(nullptr, bytes + kMappingGranularity, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (data == MAP_FAILED) {
    throw DeviceError(fmt::format(
        "the system has no stretch of {} bytes of addresses; reserve less, or raise the process's "
        "limit of address space (ulimit -v)",
        bytes));
  }
  return aligned_stretch(static_cast<std::byte*>(data), bytes);
}

void release_addresses(void* data, std::size_t bytes) noexcept { munmap(data, bytes); }

bool commit(void* address, std::size_t bytes) noexcept {
  if (mprotect(address, bytes, PROT_READ | PROT_WRITE) != 0) {
    mprotect(address, bytes, PROT_NONE);  // it may have come halfway
    return false;
  }
  // Best effort: fewer address translations.
  madvise(address, bytes, MADV_HUGEPAGE);
  return true;
}

void decommit(void* address, std::size_t bytes) {
  // Contents first: if the protection cannot be changed, the memory is as good as fresh.
  int failed = madvise(address, bytes, MADV_DONTNEED) == 0 ? 0 : errno;
  if (failed == 0 && mprotect(address, bytes, PROT_NONE) != 0) {
    failed = errno;
    mprotect(address, bytes, PROT_READ | PROT_WRITE);  // it may have come halfway
  }
  if (failed == 0) return;
  throw DeviceError(
      fmt::format("the system did not take back {} bytes of memory: {}; memory that is locked "
                  "(mlock) stays, and a process may have only so many mappings "
                  "(vm.max_map_count)",
                  bytes, system_text(failed)),
      failed);
}

}  // namespace reprise::host
