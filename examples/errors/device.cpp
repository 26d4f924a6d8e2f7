// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include <reprise/memory_pool.h>

#include "errors.h"

namespace errors {

using namespace reprise;

namespace {

void out_of_memory(World& w) {
  // [out-of-memory]
  w.device->allocate(std::size_t{1} << 30, "cache");
  // [/out-of-memory]
}

void pool_limit(World& w) {
  // [pool-limit]
  const auto pool =
      MemoryPool::create(w.device, {.name = "scratch", .limit_bytes = std::size_t{4} << 20});
  const PoolBlock first = pool->allocate(std::size_t{3} << 20, "first");
  pool->allocate(std::size_t{3} << 20, "second");
  // [/pool-limit]
}

void fault(World& w) {
  // [fault]
  host::enqueue(w.stream, "divide", [] { throw std::domain_error("division by zero"); });
  w.stream.synchronize();
  // [/fault]
}

void lost(World& w) {
  host::enqueue(w.stream, "divide", [] { throw std::domain_error("division by zero"); });
  try {
    w.stream.synchronize();
  } catch (const DeviceError&) {
  }
  // [lost]
  w.device->allocate(64, "later");  // after a kernel has failed
  // [/lost]
}

}  // namespace

std::vector<Case> device_cases() {
  return {{"out-of-memory", out_of_memory},
          {"pool-limit", pool_limit},
          {"fault", fault},
          {"lost", lost}};
}

}  // namespace errors
