// SPDX-License-Identifier: Apache-2.0
// Timers that wait for what they time. Work on a stream is asynchronous: a clock read round a call
// times the call, not the work.
#pragma once

#include <functional>
#include <vector>

#include <reprise/device.h>

namespace reprise {

/// Durations in microseconds, in the order of measuring; at least one.
struct TimeSamples {
  std::vector<double> microseconds;

  double median() const;
  /// The smallest that 99 of 100 do not exceed: with few samples, the largest.
  double p99() const;
  double least() const;
};

struct TimingOptions {
  int repeats = 20;  ///< samples; at least 1
  int warm_ups = 2;  ///< calls before, not timed
};

/// Time per call of `work`, which enqueues on `stream`, by events between the calls: how long the
/// stream takes from the end of one to the end of the next. Nothing waits in between, and one call
/// more goes ahead, so that the first event does not find the stream idle. Where the host is slower
/// in enqueuing than the device in working, it is the host's pace that one gets, as a caller would.
/// Waits for the stream. Throws UsageError for fewer than 1 repeats, CaptureError while the stream
/// or the calling thread records, what `work` throws, and what asynchronous work threw.
TimeSamples device_times(Stream& stream, const std::function<void()>& work,
                         const TimingOptions& options = {});

/// Time of the wall from each call of `work` until the stream has done it, each call on an idle
/// stream: latency as a caller sees it who waits for every result. Otherwise as device_times().
TimeSamples wall_times(Stream& stream, const std::function<void()>& work,
                       const TimingOptions& options = {});

}  // namespace reprise
