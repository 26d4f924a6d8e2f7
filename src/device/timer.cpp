// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include <reprise/timer.h>

#include "core/statistics.h"
#include "device/backend.h"
#include "device/checks.h"

namespace reprise {
namespace {

/// Refuses what cannot be timed, warms up, and leaves the stream idle.
void prepare(Stream& stream, const std::function<void()>& work, const TimingOptions& options,
             std::string_view call) {
  if (options.repeats < 1 || options.warm_ups < 0) {
    throw UsageError(fmt::format("{}: {} repeats after {} warm-ups; ask for at least 1 repeat",
                                 call, options.repeats, options.warm_ups));
  }
  stream.state().owner->require_usable();
  checks::refuse_wait(
      stream.state(), call, [&] { return checks::describe(stream.state()); },
      "time the launches of what is recorded, after the recorded function");
  for (int i = 0; i < options.warm_ups; ++i) work();
  stream.synchronize();
}

}  // namespace

double TimeSamples::median() const { return reprise::median(microseconds); }
double TimeSamples::p99() const { return percentile(microseconds, 99); }
double TimeSamples::least() const {
  if (microseconds.empty())
    throw UsageError("there is no least of no times; measure at least once");
  return *std::min_element(microseconds.begin(), microseconds.end());
}

TimeSamples device_times(Stream& stream, const std::function<void()>& work,
                         const TimingOptions& options) {
  prepare(stream, work, options, "device_times");
  std::vector<Event> marks;
  for (int i = 0; i <= options.repeats; ++i) marks.push_back(stream.device().create_event());
  work();
  for (Event& mark : marks) {
    stream.record(mark);
    if (&mark != &marks.back()) work();
  }
  stream.synchronize();
  TimeSamples samples;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    samples.microseconds.push_back(1000 * marks[i].elapsed_ms_since(marks[i - 1]));
  }
  return samples;
}

TimeSamples wall_times(Stream& stream, const std::function<void()>& work,
                       const TimingOptions& options) {
  using Clock = std::chrono::steady_clock;
  prepare(stream, work, options, "wall_times");
  TimeSamples samples;
  for (int i = 0; i < options.repeats; ++i) {
    const Clock::time_point start = Clock::now();
    work();
    stream.synchronize();
    samples.microseconds.push_back(
        std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  return samples;
}

}  // namespace reprise
