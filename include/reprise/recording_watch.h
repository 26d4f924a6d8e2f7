// SPDX-License-Identifier: Apache-2.0
// Names the raw calls of CUDA that were made while a recording lived and are no part of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/device.h>

namespace reprise {

/// What a call of somebody's meant for the recording that lived at the time.
enum class CallEffect : std::uint8_t {
  outside,  ///< by the recording thread, and not in the graph: it ran at once, or was refused
  foreign,  ///< by another thread onto a stream of the recording: it became part of the graph
  ends,     ///< CUDA ends a recording for it, whichever thread calls
};
std::string_view to_string(CallEffect effect) noexcept;

struct WatchedCall {
  CallEffect effect = CallEffect::outside;
  std::string function;         ///< "cudaMemcpy"
  std::string kernel;           ///< of a launch; "" for other calls
  long thread = 0;              ///< the system's number of the calling thread
  std::string stream;           ///< "stream 'decode'", "the default stream", "another stream"; ""
                                ///< for a call that names none
  std::uint64_t recording = 0;  ///< number of the recording, as in messages
  std::string text;             ///< all of it in one line, and what to do
};

/// While it lives, every call of CUDA's runtime and driver that any thread of the process makes
/// while something records on the device is looked at. Launches, copies, fills, waits, events and
/// allocations that are no part of the recording, or end it, are kept; what CUDA may have besides
/// those this library knows is only counted by seen(). Errors that end a recording then name the
/// call and the thread. For finding faults: the calls of the process become slower, replays too.
///
/// On CUDA it uses CUPTI, which comes with the toolkit and is looked for at run time; one
/// subscriber per process, so not together with a profiler or a second watch. A load of mapped
/// memory by the host is no call and cannot be seen. On the host device all work goes through
/// Stream, which refuses such calls itself (<reprise/device.h>): there is nothing to see.
///
/// Thread safe. Don't begin or end it while something records on the device.
class RecordingWatch {
 public:
  /// Throws DeviceError where CUPTI is not found or lets nobody in.
  explicit RecordingWatch(std::shared_ptr<Device> device);
  ~RecordingWatch();
  RecordingWatch(const RecordingWatch&) = delete;
  RecordingWatch& operator=(const RecordingWatch&) = delete;

  /// Those kept so far, in order; at most 1000, dropped() tells how many more there were.
  std::vector<WatchedCall> calls() const;
  std::uint64_t dropped() const;  ///< for want of room, or of memory for a note
  /// All calls that were looked at, harmless ones too.
  std::uint64_t seen() const;

 private:
  std::shared_ptr<Device> device_;
  std::unique_ptr<class CallWatch> watch_;  // null: the device has nothing to watch
};

}  // namespace reprise
