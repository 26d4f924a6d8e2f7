// SPDX-License-Identifier: Apache-2.0
// The host device's compute threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace reprise::host {

/// Runs loops in parallel. The calling thread takes part, so a pool of n threads starts n - 1.
/// Several threads may call at once; they share the helpers.
class ThreadPool {
 public:
  using Body = std::function<void(std::size_t, std::size_t)>;

  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const noexcept { return static_cast<int>(helpers_.size()) + 1; }

  /// Calls body(begin, end) for ranges that cover [0, count), each at least `grain` long (a shorter
  /// count is one range). Returns when all are done; throws the first exception of a range. A call
  /// from inside a body runs in the calling thread.
  void parallel_for(std::size_t count, std::size_t grain, const Body& body);

 private:
  struct Job;

  void help();
  Job* claim_locked();
  void leave(Job& job);
  void run_ranges(Job& job);

  std::mutex mutex_;
  std::condition_variable work_;  // for helpers
  std::condition_variable done_;  // for callers
  std::vector<Job*> jobs_;        // with ranges left to take
  std::atomic<std::size_t> open_jobs_{0};
  std::size_t asleep_ = 0;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> helpers_;
};

}  // namespace reprise::host
