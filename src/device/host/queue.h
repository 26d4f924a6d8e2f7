// SPDX-License-Identifier: Apache-2.0
// A stream's queue and the thread that works it off.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/host/progress.h"
#include "device/host/work.h"

namespace reprise::host {

/// When an event's point was last reached.
struct Timestamp {
  std::mutex mutex;
  std::uint64_t latest = 0;  ///< number of the point that is to write `time`
  std::chrono::steady_clock::time_point time;
};

/// An entry of the queue. The parts that are set run in the order in which they stand.
struct Item {
  std::shared_ptr<Progress> wait_for;  ///< first waits until this has reached `wait_ticket`
  std::uint64_t wait_ticket = 0;
  Work work;
  std::shared_ptr<const Program> program;
  std::shared_ptr<Timestamp> timestamp;
  std::uint64_t timestamp_number = 0;  ///< older points than the event's latest write nothing
};

/// Runs items in order on its own thread. Thread safe. The destructor works off what is queued.
class Queue {
 public:
  /// `device` must outlive the queue; a failing task marks it lost, and later items are skipped.
  Queue(DeviceState& device, std::string stream_name);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Returns the item's ticket. Allocates only while the queue grows beyond its longest so far.
  std::uint64_t push(Item item);
  std::uint64_t last_ticket() const;
  const std::shared_ptr<Progress>& progress() const noexcept { return progress_; }
  bool idle() const { return progress_->reached(last_ticket()); }
  void wait_idle() const { progress_->wait(last_ticket()); }

  /// True on a thread that works off a queue.
  static bool on_worker() noexcept;

 private:
  void work_off();
  bool take(Item& item);
  void run(const Item& item);
  void run(const Program& program);
  void run(const Conditional& node);
  void run_guarded(const Work& work, const std::string& label);

  DeviceState& device_;
  const std::string stream_name_;
  const std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();

  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<Item> ring_;  // a power of two long
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  std::uint64_t last_ticket_ = 0;
  bool asleep_ = false;
  bool stop_ = false;
  std::atomic<bool> hint_{false};  // there may be something to take: what the worker spins on

  std::thread worker_;
};

}  // namespace reprise::host
