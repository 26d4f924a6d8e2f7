// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <reprise/device.h>

#include "core/build_info.h"
#include "core/text.h"
#include "info_report.h"
#include "model/weights.h"

namespace reprise::cli {
namespace {

std::string size_text(std::size_t bytes) {
  const auto size = static_cast<double>(bytes);
  return bytes < (std::size_t{1} << 30) ? fmt::format("{:.1f} MiB", size / (1 << 20))
                                        : fmt::format("{:.1f} GiB", size / (1 << 30));
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

std::string model_text(const ModelSource& source, std::size_t cache) {
  const ModelConfig& config = source.config;
  const DType dtype = source.dtype();
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

std::string speed_text(const DeviceSpeed& speed) {
  std::string text = "measured:\n";
  text +=
      line("read", fmt::format("{:.1f} GB/s, the fastest of {} reads of {}", speed.read.gb_per_s,
                               speed.read.reads, size_text(speed.read.bytes)));
  text +=
      line("copy", fmt::format("{:.1f} GB/s, read and written bytes both counted, the fastest of "
                               "{} copies of {}",
                               speed.copy_gb_per_s, speed.copies, size_text(speed.copy_bytes)));
  text +=
      line("eager launch", fmt::format("{:.2f} µs of host time per kernel", speed.eager_launch_us));
  std::string launches;
  for (const auto& graph : speed.graphs) {
    launches += fmt::format("{}{:.2f} µs ({} node{})", launches.empty() ? "" : ", ", graph.host_us,
                            graph.nodes, graph.nodes == 1 ? "" : "s");
  }
  text += line("graph launch", launches + " of host time");
  text +=
      line("graph node", fmt::format("{:.3g} µs of device time per smallest kernel, {} in a row",
                                     speed.node_us, speed.graphs.back().nodes));
  text += line("pinned copy", fmt::format("{:.2f} µs of host time per call, {} bytes to the device",
                                          speed.pinned_copy_us, speed.pinned_copy_bytes));
  return text;
}

}  // namespace

std::string info_text(const InfoReport& report) {
  std::string text = line("reprise", fmt::format("{} ({})", build_version(), build_commit()));
  text += device_text(*report.device);
  if (report.speed) text += speed_text(*report.speed);
  if (!report.why_no_speed.empty()) text += line("measured:", "no: " + report.why_no_speed);
  if (report.model) text += model_text(*report.model, report.cache_bytes_per_token);
  return text;
}

}  // namespace reprise::cli
