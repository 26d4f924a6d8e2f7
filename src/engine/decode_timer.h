// SPDX-License-Identifier: Apache-2.0
// Times steps of a decoder that all do the same work. Part of decode_bench.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/decoder.h"

namespace reprise {

/// Durations of single steps, in the order of measuring.
struct StepTimes {
  std::vector<double> back_to_back_ms;
  std::vector<double> synced_ms;
  std::vector<double> host_us;
};

/// Steps of the first `batch` of some sequences, each at position `context`. Tokens change from
/// step to step, so that the inputs travel as in real decoding.
class DecodeTimer {
 public:
  /// `sequences` must hold `context` entries each and outlive the timer.
  DecodeTimer(Decoder& decoder, std::vector<Sequence>& sequences, std::int64_t context);

  void set_batch(int batch);
  /// Called after each step.
  void set_on_step(std::function<void()> on_step) { on_step_ = std::move(on_step); }

  void warm_up(RunMode mode, int steps);
  /// `steps` without waiting, then `steps` each waited for; appended to `times`.
  void measure(RunMode mode, int steps, StepTimes& times);

 private:
  void step(RunMode mode);
  void tell() const;
  void measure_back_to_back(RunMode mode, int steps, std::vector<double>& ms);
  void measure_synced(RunMode mode, int steps, StepTimes& times);

  Decoder& decoder_;
  std::vector<Sequence>& sequences_;
  std::int64_t context_;
  std::int64_t vocabulary_;
  std::vector<DecodeRow> rows_;
  std::int64_t steps_done_ = 0;
  std::function<void()> on_step_;
};

}  // namespace reprise
