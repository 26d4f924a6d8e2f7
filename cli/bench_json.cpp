// SPDX-License-Identifier: Apache-2.0
#include "bench_report.h"
#include "core/build_info.h"
#include "core/json_writer.h"

namespace reprise::cli {
namespace {

constexpr double kMiB = 1 << 20;

void write_result(JsonWriter& json, const BenchOptions& options, const DecodeBenchOptions& measured,
                  DType dtype, const DecodeFigures& row) {
  json.begin_object()
      .member("model", options.model)
      .member("dtype", to_string(dtype))
      .member("context", measured.context)
      .member("batch", row.batch)
      .member("mode", to_string(row.mode))
      .member("lengths", "equal")
      .member("block_table", "ordered")
      .member("variant", measured.programmatic_launch ? "default" : "no-pdl")
      .member("ms_per_step_median", row.ms_median)
      .member("ms_per_step_p99", row.ms_p99)
      .member("ms_per_step_synced_median", row.ms_synced_median)
      .member("tokens_per_s", row.tokens_per_s)
      .member("gb_per_s", row.gb_per_s)
      .member("bandwidth_share", row.bandwidth_share)
      .member("host_us_per_step", row.host_us)
      .member("steps", measured.steps)
      .member("repeats", measured.repeats)
      .end_object();
}

}  // namespace

std::string bench_json(const BenchOptions& options, const DeviceProperties& device,
                       const DecodeBenchOptions& measured, const DecodeBenchReport& report,
                       const std::string& date) {
  JsonWriter json(2);
  json.begin_object()
      .member("device", device.name)
      .member("driver", device.driver)
      .member("date", date)
      .member("commit", build_commit())
      .member("command", options.command_line)
      .member("read_gb_per_s", report.read.gb_per_s);
  json.key("results").begin_array();
  for (const DecodeFigures& row : report.results) {
    write_result(json, options, measured, report.dtype, row);
  }
  json.end_array();
  const RecordReport& ladder = report.ladder;
  json.key("ladder").begin_object().key("sizes").array(ladder.recorded);
  json.member("warmup_s", ladder.warm_up_seconds)
      .member("record_s", ladder.record_seconds)
      .member("pool_mib", static_cast<double>(ladder.pool_bytes) / kMiB)
      .member("executables_mib", static_cast<double>(ladder.executable_bytes) / kMiB)
      .end_object();
  if (!report.kernel_fallbacks.empty()) {
    json.key("kernel_fallbacks").begin_object();
    for (const KernelFallback& fallback : report.kernel_fallbacks) {
      json.member(fallback.reason, fallback.calls);
    }
    json.end_object();
  }
  json.end_object();
  return json.text() + '\n';
}

}  // namespace reprise::cli
