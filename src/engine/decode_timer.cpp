// SPDX-License-Identifier: Apache-2.0
#include "engine/decode_timer.h"

#include <chrono>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/timer.h>

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

DecodeTimer::DecodeTimer(Decoder& decoder, std::vector<Sequence>& sequences, std::int64_t context)
    : decoder_(decoder),
      sequences_(sequences),
      context_(context),
      vocabulary_(decoder.model().config().vocabulary) {}

void DecodeTimer::set_batch(int batch) {
  rows_.clear();
  for (int row = 0; row < batch; ++row) {
    rows_.push_back({.sequence = &sequences_[static_cast<std::size_t>(row)]});
  }
}

void DecodeTimer::step(RunMode mode) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    rows_[row].sequence->set_length(context_);
    const std::int64_t token = steps_done_ + 31 * static_cast<std::int64_t>(row);
    rows_[row].token = static_cast<std::int32_t>(token % vocabulary_);
  }
  ++steps_done_;
  const RunResult result = decoder_.step(rows_, mode);
  // Anything else would put one mode's name on the other's figures.
  const bool eager = mode == RunMode::eager;
  const RunPath wanted = eager ? RunPath::eager : RunPath::replay;
  if (result.path != wanted || result.bucket != result.rows) {
    throw DeviceError(fmt::format("a step of {} rows ran {} at {} rows ({}), not as it was asked",
                                  result.rows,
                                  result.path == RunPath::replay ? "by replay"
                                  : result.path == RunPath::fake ? "by fake replay"
                                                                 : "eagerly",
                                  result.bucket, to_string(result.reason)));
  }
}

void DecodeTimer::tell() const {
  if (on_step_) on_step_();
}

void DecodeTimer::warm_up(RunMode mode, int steps) {
  for (int i = 0; i < steps; ++i) {
    step(mode);
    tell();
  }
  decoder_.stream().synchronize();
}

void DecodeTimer::measure(RunMode mode, int steps, StepTimes& times) {
  measure_back_to_back(mode, steps, times.back_to_back_ms);
  measure_synced(mode, steps, times);
}

void DecodeTimer::measure_back_to_back(RunMode mode, int steps, std::vector<double>& ms) {
  const auto work = [&] {
    step(mode);
    tell();
  };
  const TimeSamples times =
      device_times(decoder_.stream(), work, {.repeats = steps, .warm_ups = 0});
  for (const double time : times.microseconds) ms.push_back(time / 1000);
}

void DecodeTimer::measure_synced(RunMode mode, int steps, StepTimes& times) {
  Stream& stream = decoder_.stream();
  for (int i = 0; i < steps; ++i) {
    const Clock::time_point start = Clock::now();
    step(mode);
    const Clock::time_point enqueued = Clock::now();
    stream.synchronize();
    times.synced_ms.push_back(microseconds(Clock::now() - start) / 1000);
    times.host_us.push_back(microseconds(enqueued - start));
    tell();
  }
}

}  // namespace reprise
