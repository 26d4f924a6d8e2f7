// SPDX-License-Identifier: Apache-2.0
#include "engine/decode_bench.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include <fmt/format.h>

#include <reprise/error.h>

#include "core/half.h"
#include "core/random_weights.h"
#include "core/statistics.h"
#include "engine/decode_timer.h"

namespace reprise {
namespace {

void check(const DecodeBenchOptions& options) {
  const auto need = [](bool fine, const std::string& complaint) {
    if (!fine) throw UsageError(complaint);
  };
  need(!options.batches.empty(), "no batch size was given; give at least one");
  std::vector<int> sizes = options.batches;
  std::sort(sizes.begin(), sizes.end());
  need(sizes.front() >= 1, fmt::format("batch {} is no batch: sizes begin at 1", sizes.front()));
  const auto twice = std::adjacent_find(sizes.begin(), sizes.end());
  need(twice == sizes.end(), fmt::format("batch {} is given twice; give each size once",
                                         twice == sizes.end() ? 0 : *twice));
  need(options.context >= 1,
       fmt::format("a context of {} entries is too short: it begins at 1", options.context));
  need(options.context < std::numeric_limits<std::int32_t>::max(),
       fmt::format("a context of {} entries is too long: positions have 31 bits", options.context));
  need(options.steps >= 1, fmt::format("{} steps measure nothing; take at least 1", options.steps));
  need(options.repeats >= 1 && options.warm_ups >= 0, "repeats begin at 1, warm-up steps at 0");
  need(options.eager || options.graph, "no mode was given; take eager, graph or both");
}

int largest(const DecodeBenchOptions& options) {
  return *std::max_element(options.batches.begin(), options.batches.end());
}

/// Bytes of keys and values a row with `context` entries reads: a window hides the older ones.
std::int64_t kv_bytes_read(const ModelConfig& config, DType dtype, std::int64_t context) {
  std::int64_t entries = 0;
  for (const std::int64_t window : config.windows) {
    entries += window == 0 ? context : std::min(window, context);
  }
  return 2 * entries * config.kv_size() * static_cast<std::int64_t>(size_of(dtype));
}

/// Finite numbers everywhere, about as large as keys and values are.
void fill_cache(KvCache& cache, Stream& stream) {
  const std::size_t element = size_of(cache.dtype());
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (std::size_t i = 0; i < piece.size() / element; ++i) {
    const float value = random_weight(1, i, random_scale(1));
    const std::uint16_t bits =
        cache.dtype() == DType::f16 ? f16_from_float(value) : bf16_from_float(value);
    const void* source = element == sizeof(float) ? static_cast<const void*>(&value) : &bits;
    std::copy_n(static_cast<const std::byte*>(source), element, piece.data() + i * element);
  }
  const std::size_t total = cache.buffer().bytes();
  for (std::size_t at = 0; at < total; at += piece.size()) {
    const std::size_t count = std::min(piece.size(), total - at);
    stream.copy(cache.buffer().view(at, count),
                pageable(std::span<const std::byte>(piece).first(count)));
  }
}

std::vector<Sequence> make_sequences(Decoder& decoder, const DecodeBenchOptions& options) {
  std::vector<Sequence> sequences;
  for (int row = 0; row < largest(options); ++row) {
    sequences.push_back(decoder.new_sequence());
    sequences.back().reserve(options.context + 1);
    sequences.back().set_length(options.context);
  }
  return sequences;
}

RecordReport record(Decoder& decoder, const DecodeBenchOptions& options) {
  if (!options.graph) return {};
  RecordReport report = decoder.record();
  if (report.disabled.empty()) return report;
  const auto buckets = decoder.pool().buckets();
  const auto bad = std::find_if(buckets.begin(), buckets.end(), [](const BucketReport& bucket) {
    return bucket.state == RunState::disabled;
  });
  throw DeviceError(fmt::format("the step of {} rows cannot be measured: {}",
                                report.disabled.front(),
                                bad == buckets.end() ? "it was disabled" : bad->reason));
}

struct Run {
  DecodeMode mode;
  StepTimes times = {};
  RunMode run_mode() const noexcept {
    return mode == DecodeMode::eager ? RunMode::eager : RunMode::automatic;
  }
};

class Bench {
 public:
  Bench(const std::shared_ptr<Device>& device, const ModelSource& source,
        const DecodeBenchOptions& options)
      : options_(options),
        decoder_(device, source,
                 {.max_batch = largest(options),
                  .sizes = options.batches,
                  .max_context = options.context + 1,
                  .prefill_chunk = 1,
                  .programmatic_launch = options.programmatic_launch,
                  .on_note = options.on_note}) {}

  DecodeBenchReport run() {
    const ModelConfig& config = decoder_.model().config();
    report_.dtype = decoder_.model().dtype();
    report_.weight_bytes = weight_bytes_per_step(config, report_.dtype);
    report_.kv_bytes_per_row = kv_bytes_read(config, decoder_.cache().dtype(), options_.context);
    tell("filling the cache");
    fill_cache(decoder_.cache(), decoder_.stream());
    std::vector<Sequence> sequences = make_sequences(decoder_, options_);
    tell("recording");
    report_.ladder = record(decoder_, options_);
    tell("measuring the read bandwidth");
    report_.read = measure_read_bandwidth(decoder_.ops(), decoder_.stream());
    DecodeTimer timer(decoder_, sequences, options_.context);
    for (const int batch : options_.batches) measure(batch, timer);
    report_.kernel_fallbacks = decoder_.ops().kernel_fallbacks();
    if (!options_.graph) {
      report_.ladder.pool_bytes =
          static_cast<std::size_t>(decoder_.pool().memory()->statistics().reserved_bytes.current);
    }
    return std::move(report_);
  }

 private:
  void tell(std::string_view what) const {
    if (options_.on_progress) options_.on_progress(what);
  }

  void measure(int batch, DecodeTimer& timer) {
    timer.set_batch(batch);
    std::vector<Run> runs;
    if (options_.eager) runs.push_back({DecodeMode::eager});
    if (options_.graph) runs.push_back({DecodeMode::graph});
    const auto announce = [&](const Run& run, const std::string& part) {
      const std::string what = fmt::format("batch {}, {}, {}", batch, to_string(run.mode), part);
      tell(what);
      timer.set_on_step([this, what] { tell(what); });
    };
    for (const Run& run : runs) {
      announce(run, "warming up");
      timer.warm_up(run.run_mode(), options_.warm_ups);
    }
    for (int repeat = 1; repeat <= options_.repeats; ++repeat) {
      for (Run& run : runs) {
        announce(run, fmt::format("repeat {} of {}", repeat, options_.repeats));
        timer.measure(run.run_mode(), options_.steps, run.times);
      }
    }
    timer.set_on_step(nullptr);
    for (const Run& run : runs) report_.results.push_back(figures(batch, run));
  }

  DecodeFigures figures(int batch, const Run& run) const {
    DecodeFigures result{.batch = batch, .mode = run.mode};
    result.ms_median = median(run.times.back_to_back_ms);
    result.ms_p99 = percentile(run.times.back_to_back_ms, 99);
    result.ms_synced_median = median(run.times.synced_ms);
    result.host_us = median(run.times.host_us);
    if (!(result.ms_median > 0)) {
      throw DeviceError(
          fmt::format("steps of {} rows took no time: the device's clock is too coarse", batch));
    }
    const auto bytes = static_cast<double>(report_.weight_bytes + report_.kv_bytes_per_row * batch);
    result.tokens_per_s = batch * 1e3 / result.ms_median;
    result.gb_per_s = bytes / (result.ms_median * 1e6);
    result.bandwidth_share = result.gb_per_s / report_.read.gb_per_s;
    return result;
  }

  const DecodeBenchOptions& options_;
  Decoder decoder_;
  DecodeBenchReport report_;
};

}  // namespace

std::string_view to_string(DecodeMode mode) noexcept {
  return mode == DecodeMode::eager ? "eager" : "graph";
}

DecodeBenchReport bench_decode(const std::shared_ptr<Device>& device, const ModelSource& source,
                               const DecodeBenchOptions& options) {
  check(options);
  // The decoder would say so too, but after it was announced that the model is being loaded.
  KvCache::require_room(*device, source.config, make_ops(*device)->cache_dtype(source.dtype()),
                        largest(options), options.context);
  if (options.on_progress) options.on_progress("loading the model");
  return Bench(device, source, options).run();
}

}  // namespace reprise
