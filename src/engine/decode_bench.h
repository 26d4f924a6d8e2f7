// SPDX-License-Identifier: Apache-2.0
// Measures decode steps, eager and recorded, at given batch sizes and a given context.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <reprise/graph_pool.h>

#include "engine/decoder.h"
#include "kernels/bandwidth.h"
#include "model/model_source.h"

namespace reprise {

struct DecodeBenchOptions {
  std::vector<int> batches;    ///< at least one, all different; recorded as one ladder
  std::int64_t context = 128;  ///< entries in every row's cache before each step; at least 1
  bool eager = true;
  bool graph = true;
  bool programmatic_launch = true;  ///< as DecoderOptions::programmatic_launch
  int steps = 200;                  ///< measured in each repeat
  int repeats = 5;                  ///< the modes take turns
  int warm_ups = 20;                ///< steps of each mode before the first repeat, not counted
  std::function<void(std::string_view)> on_note;  ///< null: standard error
  /// Told before each part of the work, and after each step, what is going on. Called often: be
  /// quick.
  std::function<void(std::string_view)> on_progress;
};

enum class DecodeMode : std::uint8_t { eager, graph };
std::string_view to_string(DecodeMode mode) noexcept;

/// What one mode did at one batch size. Times are over all repeats together.
struct DecodeFigures {
  int batch = 0;
  DecodeMode mode = DecodeMode::eager;
  /// Back to back: the host enqueues without waiting; from events between the steps.
  double ms_median = 0;
  double ms_p99 = 0;
  /// Each step waited for: wall time of enqueueing it and synchronising.
  double ms_synced_median = 0;
  double tokens_per_s = 0;  ///< batch / ms_median
  /// What a step must read (weights, and keys and values of the context) / ms_median, in 10⁹ bytes.
  double gb_per_s = 0;
  double bandwidth_share = 0;  ///< of the device's read bandwidth
  /// Wall time of the calls that enqueue a step, in µs; the median, from the steps that are waited
  /// for, so that no waiting for an earlier step is in it.
  double host_us = 0;
};

struct DecodeBenchReport {
  DType dtype = DType::bf16;  ///< of the weights
  ReadBandwidth read;
  std::int64_t weight_bytes = 0;       ///< a step must read
  std::int64_t kv_bytes_per_row = 0;   ///< a step must read
  std::vector<DecodeFigures> results;  ///< by batch as given, eager before graph
  RecordReport ladder;                 ///< `recorded` is empty if only eager was asked for
  std::vector<KernelFallback> kernel_fallbacks;  ///< all of the run, warm-ups included
};

/// Loads the model and measures. Not bound by the model's max_position_embeddings. The cache holds
/// random numbers; every step writes its entry in the same place, position `context`. Throws
/// UsageError for options that make no sense, OutOfMemory where the device is too small, and
/// DeviceError if a size could not be recorded or its replay is not bitwise what the eager step
/// gives.
DecodeBenchReport bench_decode(const std::shared_ptr<Device>& device, const ModelSource& source,
                               const DecodeBenchOptions& options);

}  // namespace reprise
