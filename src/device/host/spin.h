// SPDX-License-Identifier: Apache-2.0
// A short wait before a long one: waking a sleeping thread costs more than most small kernels take.
#pragma once

namespace reprise::host {

inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Polls `ready` at most `rounds` times; true once it is. Some ten microseconds for a thousand.
template <class Ready>
bool spin_until(int rounds, const Ready& ready) {
  for (int round = 0; round < rounds; ++round) {
    if (ready()) return true;
    pause();
  }
  return ready();
}

}  // namespace reprise::host
