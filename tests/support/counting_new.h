// SPDX-License-Identifier: Apache-2.0
// Counts allocations of all threads by replacing operator new. To be included in exactly one file
// of a program: the replacements are not inline.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace reprise::test {

inline std::atomic<bool> counting{false};
inline std::atomic<int> allocations{0};

inline void* counted(std::size_t bytes) {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1);
  if (void* data = std::malloc(bytes == 0 ? 1 : bytes)) return data;
  throw std::bad_alloc();
}

// Not inline: the compiler would see free() meet operator new and warn of a mismatch.
[[gnu::noinline]] inline void give_back(void* data) noexcept { std::free(data); }

/// Allocations while `body` runs.
template <class Body>
int allocations_in(const Body& body) {
  allocations = 0;
  counting = true;
  body();
  counting = false;
  return allocations;
}

}  // namespace reprise::test

void* operator new(std::size_t bytes) { return reprise::test::counted(bytes); }
void* operator new[](std::size_t bytes) { return reprise::test::counted(bytes); }
void operator delete(void* data) noexcept { reprise::test::give_back(data); }
void operator delete[](void* data) noexcept { reprise::test::give_back(data); }
void operator delete(void* data, std::size_t) noexcept { reprise::test::give_back(data); }
void operator delete[](void* data, std::size_t) noexcept { reprise::test::give_back(data); }
