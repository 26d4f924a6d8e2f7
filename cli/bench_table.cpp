// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <iterator>
#include <string>

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

using Cells = std::array<std::string, 10>;

std::string line(const Cells& cells) {
  constexpr std::array<int, 10> kWidths{5, 5, 10, 10, 10, 10, 9, 9, 9, 11};
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{:>{}} ", cells[i], kWidths[i]);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

Cells cells(const DecodeBenchReport& report, const DecodeFigures& row) {
  return {std::to_string(row.batch),
          std::string(to_string(row.mode)),
          fmt::format("{:.4f}", row.ms_median),
          fmt::format("{:.4f}", row.ms_p99),
          fmt::format("{:.4f}", row.ms_synced_median),
          fmt::format("{:.1f}", row.tokens_per_s),
          fmt::format("{:.2f}", row.gb_per_s),
          fmt::format("{:.1f}%", 100 * row.bandwidth_share),
          fmt::format("{:.1f}", row.host_us),
          ratio(report, row)};
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
  std::string text = fmt::format("{} on {}: {}, context {}, {} repeats of {} steps\n\n",
                                 printable(options.model), device.name, to_string(report.dtype),
                                 measured.context, measured.repeats, measured.steps);
  text += line({"batch", "mode", "ms/step", "ms/step", "ms/step", "tokens/s", "GB/s", "share of",
                "host µs", "eager/graph"});
  text += line({"", "", "median", "p99", "synced", "", "", "read", "per step", ""});
  for (const DecodeFigures& row : report.results) text += line(cells(report, row));
  fmt::format_to(std::back_inserter(text),
                 "\nread bandwidth: {:.2f} GB/s (fastest of {} reads of {})\n",
                 report.read.gb_per_s, report.read.reads, format_bytes(report.read.bytes));
  text += ladder_line(report.ladder);
  for (const KernelFallback& fallback : report.kernel_fallbacks) {
    text += fmt::format("kernel fallback {}: {} calls\n", fallback.reason, fallback.calls);
  }
  if (device.kind == DeviceKind::host) {
    text +=
        "On the host about 1.0x is the honest ratio: a recorded step saves launches, and here a "
        "launch is a function call. More than that means that enqueueing and computing fought for "
        "processors.\n";
  }
  return text;
}

}  // namespace reprise::cli
