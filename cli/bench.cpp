// SPDX-License-Identifier: Apache-2.0
// `reprise bench`: eager against recorded decode steps.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "atomic_file.h"
#include "bench_report.h"
#include "commands.h"
#include "core/log.h"
#include "open_device.h"
#include "output.h"

namespace reprise::cli {
namespace {

/// Says what is going on, but only every few seconds: a quick run stays silent.
class SlowProgress {
 public:
  void operator()(std::string_view what) {
    const auto now = std::chrono::steady_clock::now();
    if (now - said_ < kPause) return;
    said_ = now;
    write_err(fmt::format("reprise: bench: {}\n", what));
  }

 private:
  static constexpr std::chrono::seconds kPause{5};
  std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
};

/// The record's place is tried before the minutes of measuring.
std::optional<AtomicFile> open_record(const BenchOptions& options) {
  if (!options.json) return std::nullopt;
  return std::optional<AtomicFile>(std::in_place, *options.json);
}

void remark(const DecodeBenchReport& report) {
  const bool cached = std::any_of(report.results.begin(), report.results.end(),
                                  [](const DecodeFigures& row) { return row.bandwidth_share > 1; });
  if (!cached) return;
  stderr_sink()(
      "some steps beat the read bandwidth of memory: the weights stay in the caches, so their "
      "share says little");
}

}  // namespace

int bench(const BenchOptions& options) {
  std::optional<AtomicFile> record = open_record(options);
  const std::string date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  const std::shared_ptr<Device> device = open_device(options.device);
  const ModelSource source = open_model(options.model);
  DecodeBenchOptions what;
  what.batches = options.batches;
  what.context = options.context;
  what.eager = options.eager;
  what.graph = options.graph;
  what.steps = options.steps;
  what.programmatic_launch = options.programmatic_launch;
  what.on_progress = SlowProgress();
  const DecodeBenchReport report = bench_decode(device, source, what);
  if (record) record->commit(bench_json(options, device->properties(), what, report, date));
  write_out(bench_table(options, device->properties(), what, report));
  remark(report);
  return 0;
}

}  // namespace reprise::cli
