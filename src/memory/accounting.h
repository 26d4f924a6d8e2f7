// SPDX-License-Identifier: Apache-2.0
// Counters that keep their own peak and totals.
#pragma once

#include <algorithm>
#include <cstdint>

#include <reprise/memory_pool.h>

namespace reprise {

inline void increase(MemoryCounter& counter, std::uint64_t amount) noexcept {
  counter.current += amount;
  counter.allocated += amount;
  counter.peak = std::max(counter.peak, counter.current);
}

inline void decrease(MemoryCounter& counter, std::uint64_t amount) noexcept {
  counter.current -= amount;
  counter.freed += amount;
}

inline void set(MemoryCounter& counter, std::uint64_t value) noexcept {
  if (value > counter.current) increase(counter, value - counter.current);
  if (value < counter.current) decrease(counter, counter.current - value);
}

inline void reset_peak(MemoryCounter& counter) noexcept { counter.peak = counter.current; }

inline void reset_accumulated(MemoryCounter& counter) noexcept {
  counter.allocated = 0;
  counter.freed = 0;
}

}  // namespace reprise
