// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench_report.h"
#include "core/bytes.h"
#include "core/text.h"

namespace reprise::cli {
namespace {

constexpr double kMiB = 1 << 20;

/// The eager median over this row's, where both were measured.
std::string ratio(const DecodeBenchReport& report, const DecodeFigures& row) {
  if (row.mode != DecodeMode::graph) return "";
  for (const DecodeFigures& other : report.results) {
    if (other.batch != row.batch || other.mode != DecodeMode::eager) continue;
    return fmt::format("{:.2f}x", other.ms_median / row.ms_median);
  }
  return "";
}

std::string ladder_line(const RecordReport& ladder) {
  if (ladder.recorded.empty()) return "ladder: nothing was recorded, only eager was asked for\n";
  return fmt::format(
      "ladder {}: warm-up {:.3f} s, record {:.3f} s, pool {:.2f} MiB, executables {:.2f} MiB\n",
      fmt::join(ladder.recorded, ","), ladder.warm_up_seconds, ladder.record_seconds,
      static_cast<double>(ladder.pool_bytes) / kMiB,
      static_cast<double>(ladder.executable_bytes) / kMiB);
}

}  // namespace

std::string bench_table(const BenchOptions& options, const DeviceProperties& device,
                        const DecodeBenchOptions& measured, const DecodeBenchReport& report) {
  std::string text = fmt::format(
      "{} on {}: {}, context {}, {} x {} steps\n\n{:>5} {:>6} {:>10} {:>10} {:>10} {:>10} {:>8} "
      "{:>7} {:>9} {:>12}\n{:>5} {:>6} {:>10} {:>10} {:>10} {:>10} {:>8} {:>7} {:>9} {:>12}\n",
      printable(options.model), device.name, to_string(report.dtype), measured.context,
      measured.repeats, measured.steps, "batch", "mode", "ms/step", "ms/step", "ms/step",
      "tokens/s", "GB/s", "of read", "host us", "eager/graph", "", "", "median", "p99", "synced",
      "", "", "speed", "per step", "");
  for (const DecodeFigures& row : report.results) {
    fmt::format_to(
        std::back_inserter(text),
        "{:>5} {:>6} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.1f} {:>8.2f} {:>6.1f}% {:>9.1f} "
        "{:>12}",
        row.batch, to_string(row.mode), row.ms_median, row.ms_p99, row.ms_synced_median,
        row.tokens_per_s, row.gb_per_s, 100 * row.bandwidth_share, row.host_us, ratio(report, row));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  fmt::format_to(std::back_inserter(text),
                 "\nread bandwidth: {:.2f} GB/s (fastest of {} reads of {})\n",
                 report.read.gb_per_s, report.read.reads, format_bytes(report.read.bytes));
  text += ladder_line(report.ladder);
  if (device.kind == DeviceKind::host) {
    text +=
        "On the host about 1.0x is the honest ratio: there is no launch cost that a recorded step "
        "could save.\n";
  }
  return text;
}

}  // namespace reprise::cli
