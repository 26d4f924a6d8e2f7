// SPDX-License-Identifier: Apache-2.0
#include "device/host/progress.h"

#include "device/host/spin.h"

namespace reprise::host {
namespace {

// Short: whoever waits takes a core away from those who compute.
constexpr int kSpin = 200;

}  // namespace

// Both sides use the sequentially consistent order: either the waiter sees the new count, or this
// side sees the waiter.
void Progress::complete(std::uint64_t ticket) {
  done_.store(ticket);
  if (waiting_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Progress::wait(std::uint64_t ticket) {
  if (spin_until(kSpin, [&] { return reached(ticket); })) return;
  std::unique_lock lock(mutex_);
  waiting_.fetch_add(1);
  changed_.wait(lock, [&] { return done_.load() >= ticket; });
  waiting_.fetch_sub(1);
}

}  // namespace reprise::host
