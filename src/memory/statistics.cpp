// SPDX-License-Identifier: Apache-2.0
#include <reprise/memory_pool.h>

namespace reprise {

bool MemoryResource::extend(void*, std::size_t, std::size_t) { return false; }

double MemoryStatistics::fragmentation() const noexcept {
  const std::uint64_t reserved = reserved_bytes.current;
  // Segments given back since the peak can leave less than it.
  if (allocated_bytes.peak >= reserved) return 0;
  return 1 - static_cast<double>(allocated_bytes.peak) / static_cast<double>(reserved);
}

}  // namespace reprise
