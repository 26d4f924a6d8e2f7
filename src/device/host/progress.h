// SPDX-License-Identifier: Apache-2.0
// How far a stream's worker has come. Shared by all who wait for a point in the stream, and
// outlives it, so that an event may be asked after its stream is gone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace reprise::host {

class Progress {
 public:
  /// Items 1 … ticket are done.
  void complete(std::uint64_t ticket);
  bool reached(std::uint64_t ticket) const noexcept {
    return done_.load(std::memory_order_acquire) >= ticket;
  }
  void wait(std::uint64_t ticket);

 private:
  std::atomic<std::uint64_t> done_{0};
  std::atomic<int> waiting_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace reprise::host
