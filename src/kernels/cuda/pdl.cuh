// SPDX-License-Identifier: Apache-2.0
// A kernel's side of programmatic launch (<reprise/launch_declaration.h>). Both calls do nothing
// below compute capability 9.0, and nothing in a kernel that was launched plainly.
//
// With REPRISE_JITTER defined (tests/jitter) some warps sleep round the trigger and ahead of the
// last store, so that a wait that is missing shows in the results: no sanitizer sees it.
#pragma once

#include <cstdint>

namespace reprise::cuda_kernels {

#ifdef REPRISE_JITTER
constexpr bool kJitter = true;
#else
constexpr bool kJitter = false;
#endif

/// One warp in eight sleeps, for up to some 16 µs; which one changes with the clock.
__device__ __forceinline__ void jitter() {
  if constexpr (kJitter) {
    const std::uint32_t block = blockIdx.x + 8191u * blockIdx.y;
    std::uint32_t hash = static_cast<std::uint32_t>(clock64() >> 5) ^ (block * 0x9e3779b9u) ^
                         (threadIdx.x / 32 * 0x85ebca6bu);
    hash = (hash ^ hash >> 16) * 0x7feb352du;
    hash = (hash ^ hash >> 15) * 0x846ca68bu;
    if ((hash >> 29) == 0) __nanosleep(hash & 0x1fffu);
  }
}

/// After it, all that kernels before this one wrote is there, and they have ended. Every thread
/// calls it, on every path, before it reads what they may write or writes anything.
__device__ __forceinline__ void wait_for_producer() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Once every block has called it, the kernel behind this one may start, up to its own wait. That
/// waits for the end of this kernel, so the call may stand anywhere; early is best.
__device__ __forceinline__ void let_consumer_start() {
  jitter();
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  jitter();
}

/// Stands ahead of a kernel's last stores, for the jitter.
__device__ __forceinline__ void before_last_store() { jitter(); }

}  // namespace reprise::cuda_kernels
