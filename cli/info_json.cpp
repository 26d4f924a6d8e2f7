// SPDX-License-Identifier: Apache-2.0
#include "core/build_info.h"
#include "core/json_writer.h"
#include "info_report.h"
#include "model/weights.h"

namespace reprise::cli {
namespace {

void write_device(JsonWriter& json, Device& device) {
  const DeviceProperties& properties = device.properties();
  const MemoryInfo memory = device.memory_info();
  json.key("device")
      .begin_object()
      .member("label", device.label())
      .member("name", properties.name)
      .member("driver", properties.driver)
      .member("memory_free_bytes", memory.free)
      .member("memory_total_bytes", memory.total);
  if (properties.kind == DeviceKind::host) {
    json.member("threads", properties.multiprocessors).member("instructions", instructions());
  } else {
    json.member("multiprocessors", properties.multiprocessors)
        .member("compute_capability", properties.compute_capability);
  }
  json.end_object();
}

void write_speed(JsonWriter& json, const DeviceSpeed& speed) {
  json.key("measured")
      .begin_object()
      .member("read_gb_per_s", speed.read.gb_per_s)
      .member("read_bytes", speed.read.bytes)
      .member("copy_read_and_write_gb_per_s", speed.copy_gb_per_s)
      .member("copy_bytes", speed.copy_bytes)
      .member("eager_launch_host_us", speed.eager_launch_us)
      .key("graph_launches")
      .begin_array();
  for (const auto& graph : speed.graphs) {
    json.begin_object()
        .member("nodes", graph.nodes)
        .member("host_us", graph.host_us)
        .member("device_us", graph.device_us)
        .end_object();
  }
  json.end_array()
      .member("graph_node_device_us", speed.node_us)
      .member("pinned_copy_host_us", speed.pinned_copy_us)
      .member("pinned_copy_bytes", speed.pinned_copy_bytes)
      .end_object();
}

void write_model(JsonWriter& json, const ModelSource& source, std::size_t cache) {
  const ModelConfig& config = source.config;
  json.key("model")
      .begin_object()
      .member("name", source.argument)
      .member("architecture", config.architecture)
      .member("layers", config.layers)
      .member("hidden_size", config.hidden_size)
      .member("intermediate_size", config.intermediate_size)
      .member("heads", config.heads)
      .member("kv_heads", config.kv_heads)
      .member("head_dim", config.head_dim)
      .key("windows")
      .array(config.windows)
      .member("vocabulary", config.vocabulary)
      .member("context", config.max_positions)
      .key("eos")
      .array(source.generation.eos)
      .member("parameters", parameter_count(config))
      .member("dtype", to_string(source.dtype()))
      .member("random", source.random)
      .member("step_reads_bytes", weight_bytes_per_step(config, source.dtype()))
      .member("cache_bytes_per_token", cache)
      .end_object();
}

}  // namespace

std::string info_json(const InfoReport& report) {
  JsonWriter json(2);
  json.begin_object().member("version", build_version()).member("commit", build_commit());
  write_device(json, *report.device);
  if (report.speed) write_speed(json, *report.speed);
  if (!report.why_no_speed.empty()) json.member("not_measured", report.why_no_speed);
  if (report.model) write_model(json, *report.model, report.cache_bytes_per_token);
  json.end_object();
  return json.text() + '\n';
}

}  // namespace reprise::cli
