// SPDX-License-Identifier: Apache-2.0
// `reprise info`: the device, what it can do at best, the build, and a model's facts.
#include <memory>

#include <reprise/error.h>

#include "commands.h"
#include "core/text.h"
#include "info_report.h"
#include "kernels/composed_ops.h"
#include "kernels/ops.h"
#include "open_device.h"
#include "output.h"

namespace reprise::cli {
namespace {

// The other facts are worth having also where the device is too full, or too old, to measure.
void measure(InfoReport& report) {
  try {
    const std::unique_ptr<Ops> ops = make_ops(*report.device);
    Stream stream = report.device->create_stream("info");
    report.speed = measure_device_speed(*ops, stream);
  } catch (const Error& fault) {
    if (report.device->lost()) throw;
    report.why_no_speed = printable(fault.what());
  }
}

void open_model_of(const std::string& name, InfoReport& report) {
  report.model = open_model(name);
  const ModelConfig& config = report.model->config;
  const DType cache = make_ops(*report.device)->cache_dtype(report.model->dtype());
  report.cache_bytes_per_token =
      static_cast<std::size_t>(2 * config.layers * config.kv_size()) * size_of(cache);
}

}  // namespace

std::string instructions() {
  if (simd_level_usable(SimdLevel::avx512)) return "AVX-512";
  return simd_level_usable(SimdLevel::avx2) ? "AVX2" : "plain";
}

int info(const InfoOptions& options) {
  InfoReport report;
  report.device = open_device(options.device);
  if (options.model) open_model_of(*options.model, report);
  if (options.measure) measure(report);
  write_out(options.format == InfoFormat::text ? info_text(report) : info_json(report));
  return 0;
}

}  // namespace reprise::cli
