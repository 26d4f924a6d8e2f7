// SPDX-License-Identifier: Apache-2.0
// What a call of a driver's API means for a live recording. Pure but for keep(); the device's part
// is to see the calls (cuda/call_observer.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/recording_watch.h>

namespace reprise {

class LiveRecording;

enum class CallTarget : std::uint8_t {
  none,       ///< the call names no stream
  recording,  ///< a stream that records
  standard,   ///< the default stream
  other,      ///< any other stream
};

/// A call as the device saw it, before it runs.
struct ObservedCall {
  std::string_view function;  ///< CUDA's name for it, without the suffix of a variant
  CallTarget target = CallTarget::none;
  bool recording_thread = false;
  /// The thread has told CUDA that it knows what it does (relaxed capture mode).
  bool relaxed = false;
};

/// None: harmless, or part of the recording.
std::optional<CallEffect> effect_of(const ObservedCall& call) noexcept;

/// True for what waits for all streams of a device, and so ends every recording there.
bool waits_for_device(std::string_view function) noexcept;

/// "cudaMalloc_ptds" -> "cudaMalloc", "cuMemAlloc_v2" -> "cuMemAlloc".
std::string_view plain_name(std::string_view function) noexcept;

/// The calls that were kept. Thread safe.
class CallWatch {
 public:
  virtual ~CallWatch() = default;

  /// Fills in `call.text` and keeps it; a call that ends `recording` is also blamed for its end.
  void keep(WatchedCall call, LiveRecording& recording);
  void count() noexcept;
  /// A call could not be kept for want of memory.
  void drop() noexcept { ++unkept_; }
  std::vector<WatchedCall> calls() const;
  std::uint64_t dropped() const;
  std::uint64_t seen() const;

 private:
  mutable std::mutex mutex_;
  std::vector<WatchedCall> calls_;
  std::atomic<std::uint64_t> unkept_{0};
  std::uint64_t dropped_ = 0;
  std::uint64_t seen_ = 0;
};

}  // namespace reprise
