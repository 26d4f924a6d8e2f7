// SPDX-License-Identifier: Apache-2.0
// One lane (DESIGN §5): all runs of a runner or pool are ordered, on whatever streams they are put,
// and only one thread is inside at a time.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include <reprise/device.h>
#include <reprise/memory_pool.h>
#include <reprise/sleepable_memory.h>

namespace reprise {

class Lane {
 public:
  Lane(Device& device, const std::string& name);

  /// Held while a call is inside; the second thread gets a UsageError instead of waiting, because
  /// two threads in one lane is a mistake that waiting would hide.
  class Entry {
   public:
    Entry(Lane& lane, std::string_view call);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    Lane& lane_;
  };

  /// Makes later work on `stream` wait for the lane's work so far, wherever it runs. To be called
  /// before a run changes anything: it refuses a stream that cannot take the run (it records, its
  /// device is lost or another one, its memory is asleep), and any stream while the calling thread
  /// records, because a run may have to wait.
  void order(Stream& stream);
  Stream& stream() noexcept { return stream_; }

  /// From here on order() refuses while any of the two is asleep; either may be null.
  void rest_with(std::shared_ptr<const MemoryPool> memory,
                 std::shared_ptr<const SleepableMemory> sleepable) noexcept;
  bool asleep() const noexcept {
    return (memory_ != nullptr && memory_->asleep()) ||
           (sleepable_ != nullptr && sleepable_->asleep());
  }

 private:
  void require_ready(const Stream& stream) const;

  std::string name_;
  Stream stream_;
  Event fence_;
  std::shared_ptr<StreamState> last_;
  std::shared_ptr<const MemoryPool> memory_;
  std::shared_ptr<const SleepableMemory> sleepable_;
  std::atomic_flag entered_ = ATOMIC_FLAG_INIT;
};

}  // namespace reprise
