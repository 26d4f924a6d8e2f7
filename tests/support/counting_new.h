// SPDX-License-Identifier: Apache-2.0
// Counts allocations of all threads by replacing operator new. To be included in exactly one file
// of a program: the replacements are not inline. The nothrow forms (std::stable_sort's buffer comes
// from one) are replaced too: a sanitizer brings its own, and would see its memory meet our delete.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace reprise::test {

inline std::atomic<bool> counting{false};
inline std::atomic<int> allocations{0};

inline void* counted_or_null(std::size_t bytes) noexcept {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1);
  return std::malloc(bytes == 0 ? 1 : bytes);
}

inline void* counted(std::size_t bytes) {
  if (void* data = counted_or_null(bytes)) return data;
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
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return reprise::test::counted_or_null(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return reprise::test::counted_or_null(bytes);
}
void operator delete(void* data) noexcept { reprise::test::give_back(data); }
void operator delete[](void* data) noexcept { reprise::test::give_back(data); }
void operator delete(void* data, std::size_t) noexcept { reprise::test::give_back(data); }
void operator delete[](void* data, std::size_t) noexcept { reprise::test::give_back(data); }
void operator delete(void* data, const std::nothrow_t&) noexcept { reprise::test::give_back(data); }
void operator delete[](void* data, const std::nothrow_t&) noexcept {
  reprise::test::give_back(data);
}
