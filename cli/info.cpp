// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <reprise/device.h>

#include "commands.h"
#include "core/build_info.h"
#include "core/text.h"
#include "kernels/composed_ops.h"
#include "kernels/ops.h"
#include "model/model_source.h"
#include "model/weights.h"
#include "open_device.h"
#include "output.h"

namespace reprise::cli {
namespace {

std::string size_text(std::size_t bytes) {
  const auto size = static_cast<double>(bytes);
  return bytes < (std::size_t{1} << 30) ? fmt::format("{:.1f} MiB", size / (1 << 20))
                                        : fmt::format("{:.1f} GiB", size / (1 << 30));
}

std::string instructions() {
  if (simd_level_usable(SimdLevel::avx512)) return "AVX-512";
  return simd_level_usable(SimdLevel::avx2) ? "AVX2" : "plain";
}

std::string line(std::string_view name, std::string_view content) {
  return fmt::format("{:<14}{}\n", name, content);
}

std::string device_text(Device& device) {
  const DeviceProperties& properties = device.properties();
  const MemoryInfo memory = device.memory_info();
  std::string text = line("device", fmt::format("{} ({})", device.label(), properties.name));
  text += line("driver", properties.driver);
  text +=
      line("memory", fmt::format("{} free of {}", size_text(memory.free), size_text(memory.total)));
  if (properties.kind == DeviceKind::host) {
    text += line("threads", std::to_string(properties.multiprocessors));
    text += line("instructions", instructions());
  } else {
    text +=
        line("processors",
             fmt::format("{} multiprocessors, compute capability {}.{}", properties.multiprocessors,
                         properties.compute_capability / 10, properties.compute_capability % 10));
  }
  return text;
}

std::string window_text(const ModelConfig& config) {
  std::int64_t windowed = 0;
  std::int64_t widest = 0;
  for (const std::int64_t window : config.windows) {
    windowed += window > 0 ? 1 : 0;
    widest = std::max(widest, window);
  }
  if (windowed == 0) return "all positions";
  return fmt::format("the latest {} positions in {} of {} layers", widest, windowed, config.layers);
}

std::string ids_text(const std::vector<std::int32_t>& ids) {
  return ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", "));
}

std::string model_text(const ModelSource& source, Ops& ops) {
  const ModelConfig& config = source.config;
  const DType dtype = source.dtype();
  const std::size_t cache = static_cast<std::size_t>(2 * config.layers * config.kv_size()) *
                            size_of(ops.cache_dtype(dtype));
  std::string text = line("model", printable(source.argument));
  text += line("architecture", config.architecture);
  text += line("layers", fmt::format("{} of hidden size {}, intermediate size {}", config.layers,
                                     config.hidden_size, config.intermediate_size));
  text += line("heads", fmt::format("{} query, {} key/value, of size {}", config.heads,
                                    config.kv_heads, config.head_dim));
  text += line("attends to", window_text(config));
  text += line("vocabulary", std::to_string(config.vocabulary));
  text += line("context", fmt::format("{} tokens", config.max_positions));
  text += line("ends at", ids_text(source.generation.eos));
  text += line("weights", fmt::format("{} parameters in {}{}", parameter_count(config),
                                      to_string(dtype), source.random ? ", random" : ""));
  text +=
      line("step reads", fmt::format("{} bytes of weights", weight_bytes_per_step(config, dtype)));
  text +=
      line("cache", fmt::format("{} bytes per token, {} for the whole context", cache,
                                size_text(cache * static_cast<std::size_t>(config.max_positions))));
  return text;
}

}  // namespace

int info(const InfoOptions& options) {
  const std::shared_ptr<Device> device = open_device(options.device);
  std::string text = line("reprise", fmt::format("{} ({})", build_version(), build_commit()));
  text += device_text(*device);
  if (options.model) {
    const ModelSource source = open_model(*options.model);
    const std::unique_ptr<Ops> ops = make_ops(*device);
    text += model_text(source, *ops);
  }
  write_out(text);
  return 0;
}

}  // namespace reprise::cli
