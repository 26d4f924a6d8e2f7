// SPDX-License-Identifier: Apache-2.0
// What `reprise bench` found, as a table for people and as a record for scripts.
#pragma once

#include <string>

#include "commands.h"
#include "engine/decode_bench.h"

namespace reprise::cli {

/// Table by batch size and mode, the read bandwidth, the ladder; on the host a closing remark.
std::string bench_table(const BenchOptions& options, const DeviceProperties& device,
                        const DecodeBenchOptions& measured, const DecodeBenchReport& report);

/// The record: {"device", "driver", "date", "commit", "command", "read_gb_per_s", "results": […],
/// "ladder": {…}}. `date` is ISO 8601 in UTC.
std::string bench_json(const BenchOptions& options, const DeviceProperties& device,
                       const DecodeBenchOptions& measured, const DecodeBenchReport& report,
                       const std::string& date);

}  // namespace reprise::cli
