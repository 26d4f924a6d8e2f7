// SPDX-License-Identifier: Apache-2.0
#include "device/host/thread_pool.h"

#include <algorithm>
#include <exception>

#include "device/host/spin.h"

namespace reprise::host {
namespace {

// Bridges the gap between two kernels of one replay without a wake-up.
constexpr int kHelperSpin = 2000;
constexpr int kCallerSpin = 1000;
constexpr std::size_t kRangesPerThread = 4;

thread_local bool inside_body = false;

}  // namespace

struct ThreadPool::Job {
  const Body* body = nullptr;
  std::size_t count = 0;
  std::size_t ranges = 0;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> helpers{0};  // changed under the pool's mutex
  std::mutex fault_mutex;
  std::exception_ptr fault;
};

ThreadPool::ThreadPool(int threads) {
  for (int index = 1; index < threads; ++index) helpers_.emplace_back([this] { help(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::parallel_for(std::size_t count, std::size_t grain, const Body& body) {
  if (count == 0) return;
  const std::size_t ranges = std::min(count / std::max<std::size_t>(grain, 1),
                                      helpers_.empty() ? 1 : kRangesPerThread * threads());
  if (ranges <= 1 || inside_body) {
    body(0, count);
    return;
  }
  Job job;
  job.body = &body;
  job.count = count;
  job.ranges = ranges;
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
    open_jobs_.store(jobs_.size(), std::memory_order_release);
    wake = asleep_ > 0;
  }
  if (wake) work_.notify_all();
  run_ranges(job);
  {
    const std::lock_guard lock(mutex_);
    std::erase(jobs_, &job);
    open_jobs_.store(jobs_.size(), std::memory_order_release);
  }
  const auto alone = [&] { return job.helpers.load(std::memory_order_acquire) == 0; };
  if (!spin_until(kCallerSpin, alone)) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, alone);
  }
  if (job.fault) std::rethrow_exception(job.fault);
}

void ThreadPool::run_ranges(Job& job) {
  inside_body = true;
  for (;;) {
    const std::size_t range = job.next.fetch_add(1, std::memory_order_relaxed);
    if (range >= job.ranges) break;
    // Even cuts without the product range * count, which may overflow.
    const std::size_t size = job.count / job.ranges;
    const std::size_t rest = job.count % job.ranges;
    const std::size_t begin = range * size + std::min(range, rest);
    const std::size_t end = begin + size + (range < rest ? 1 : 0);
    try {
      (*job.body)(begin, end);
    } catch (...) {
      const std::lock_guard lock(job.fault_mutex);
      if (!job.fault) job.fault = std::current_exception();
    }
  }
  inside_body = false;
}

ThreadPool::Job* ThreadPool::claim_locked() {
  for (Job* job : jobs_) {
    if (job->next.load(std::memory_order_relaxed) < job->ranges) {
      job->helpers.fetch_add(1, std::memory_order_relaxed);
      return job;
    }
  }
  return nullptr;
}

void ThreadPool::leave(Job& job) {
  // Under the mutex, because the caller may free the job as soon as the count is zero.
  const std::lock_guard lock(mutex_);
  if (job.helpers.fetch_sub(1, std::memory_order_release) == 1) done_.notify_all();
}

void ThreadPool::help() {
  for (;;) {
    spin_until(kHelperSpin, [&] {
      return open_jobs_.load(std::memory_order_acquire) != 0 ||
             stop_.load(std::memory_order_relaxed);
    });
    Job* job = nullptr;
    {
      std::unique_lock lock(mutex_);
      job = claim_locked();
      while (job == nullptr && !stop_) {
        ++asleep_;
        work_.wait(lock);
        --asleep_;
        job = claim_locked();
      }
    }
    if (job == nullptr) return;
    run_ranges(*job);
    leave(*job);
  }
}

}  // namespace reprise::host
