// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <reprise/device.h>
#include <reprise/memory_adaptors.h>
#include <reprise/memory_pool.h>

#include "guide.h"

bool guide::memory_pool() {
  const auto device = reprise::Device::open("host");
  // [pool]
  const auto pool = reprise::MemoryPool::create(
      device, {.name = "scratch", .limit_bytes = std::size_t{64} << 20});
  pool->reserve(std::size_t{4} << 20);  // a block of 4 MiB will fit without growing
  const void* first = nullptr;
  {
    const reprise::PoolBlock hidden = pool->allocate(100'000, "hidden");
    first = hidden.data();
  }  // given back here
  const reprise::PoolBlock again = pool->allocate(100'000, "hidden");
  const bool same_address = again.data() == first;
  // [/pool]
  // [statistics]
  const reprise::MemoryStatistics now = pool->statistics();
  const std::uint64_t reserved = now.reserved_bytes.current;  // taken from the device
  const std::uint64_t in_use = now.allocated_bytes.current;   // in blocks handed out
  const double fragmentation = now.fragmentation();           // 1 - peak in use / reserved
  // [/statistics]
  bool refused = false;
  // [limit]
  try {
    (void)pool->allocate(std::size_t{100} << 20, "too much");
  } catch (const reprise::OutOfMemory&) {  // says what is reserved, in use and free
    refused = true;
  }
  // [/limit]
  return same_address && refused && in_use < reserved && fragmentation > 0;
}
