// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include <reprise/error.h>

#include "engine/decoder.h"
#include "sections.h"

namespace reprise::bench_graph {
namespace {

constexpr double kMiB = 1 << 20;
constexpr std::int64_t kContext = 128;

std::vector<Sequence> sequences_of(Decoder& decoder, int count) {
  std::vector<Sequence> sequences;
  for (int i = 0; i < count; ++i) {
    sequences.push_back(decoder.new_sequence());
    sequences.back().reserve(kContext + 1);
    sequences.back().set_length(kContext);
  }
  return sequences;
}

/// One step of `rows` rows, all at the same position.
void run_step(Decoder& decoder, std::vector<Sequence>& sequences, int rows, RunMode mode) {
  std::vector<DecodeRow> batch;
  for (int row = 0; row < rows; ++row) {
    Sequence& sequence = sequences[static_cast<std::size_t>(row)];
    sequence.set_length(kContext);
    batch.push_back({.sequence = &sequence, .token = 1 + row % 100});
  }
  decoder.step(batch, mode);
}

DecoderOptions decoder_options(int largest, int prefill_chunk) {
  DecoderOptions options;
  options.max_batch = largest;
  options.max_context = kContext + 1;
  options.prefill_chunk = prefill_chunk;
  return options;
}

double free_mib(const Device& device) {
  return static_cast<double>(device.memory_info().free) / kMiB;
}

void measure_ladder(const Setup& setup, int largest, JsonWriter& json) {
  Decoder decoder(setup.device, open_model(setup.model), decoder_options(largest, 1));
  std::vector<Sequence> sequences = sequences_of(decoder, largest);
  // What an eager program has too: modules, the workspace and scratch memory of the largest step.
  run_step(decoder, sequences, largest, RunMode::eager);
  run_step(decoder, sequences, 1, RunMode::eager);
  decoder.stream().synchronize();
  const double before = free_mib(*setup.device);
  const RecordReport report = decoder.record();
  decoder.stream().synchronize();
  const double beyond = before - free_mib(*setup.device);
  if (!report.disabled.empty()) {
    throw DeviceError(fmt::format("size {} was disabled: {}", report.disabled.front(),
                                  "the ladder cannot be measured"));
  }
  const auto buckets = decoder.pool().buckets();
  const auto nodes = std::accumulate(
      buckets.begin(), buckets.end(), std::size_t{0},
      [](std::size_t sum, const BucketReport& bucket) { return sum + bucket.nodes; });
  json.begin_object()
      .member("model", setup.model)
      .member("sizes", report.recorded.size())
      .member("largest", largest)
      .member("nodes", nodes)
      .member("record_s", report.record_seconds)
      .member("warm_up_s", report.warm_up_seconds)
      .member("self_test_s", report.self_test_seconds)
      .member("pool_mib", static_cast<double>(report.pool_bytes) / kMiB)
      .member("executables_mib", static_cast<double>(report.executable_bytes) / kMiB)
      .member("beyond_eager_mib", beyond)
      .end_object();
}

/// Scratch memory of the ladder's sizes, in the order given, on one pool or on one each.
struct Sharing {
  const char* name;
  bool shared;
  bool ascending;
};

void measure_one(const Setup& setup, Decoder& decoder, const Sharing& how, JsonWriter& json) {
  std::vector<int> sizes = default_ladder(setup.largest);
  if (!how.ascending) std::reverse(sizes.begin(), sizes.end());
  DecodeStep step(decoder.model(), decoder.ops(), decoder.cache(),
                  KvCache::pages_for(decoder.max_context()), {});
  const auto fresh = [&] { return MemoryPool::create(setup.device, {.name = how.name}); };
  const std::shared_ptr<MemoryPool> one = fresh();
  std::vector<std::shared_ptr<MemoryPool>> memories{one};
  std::vector<GraphPool> pools;
  for (const int size : sizes) {
    if (!how.shared) memories.push_back(fresh());
    pools.emplace_back(
        setup.device, step.make(),
        GraphPoolOptions{
            .sizes = {size}, .self_test = false, .memory = how.shared ? one : memories.back()});
    pools.back().bind("kv_cache", decoder.cache().tensor());
    pools.back().record();
  }
  std::uint64_t reserved = 0;
  for (const auto& memory : memories) reserved += memory->statistics().reserved_bytes.current;
  json.begin_object()
      .member("pool", how.shared ? "shared" : "per graph")
      .member("order", how.ascending ? "ascending" : "descending")
      .member("graphs", sizes.size())
      .member("reserved_mib", static_cast<double>(reserved) / kMiB)
      .end_object();
}

}  // namespace

void measure_ladders(const Setup& setup, JsonWriter& json) {
  json.key("ladders").begin_array();
  for (const int largest : {setup.largest, 2 * setup.largest}) {
    measure_ladder(setup, largest, json);
  }
  json.end_array();
}

void measure_sharing(const Setup& setup, JsonWriter& json) {
  Decoder decoder(setup.device, open_model(setup.small_model), decoder_options(setup.largest, 1));
  json.key("sharing").begin_array();
  for (const Sharing& how : {Sharing{"descending", true, false}, Sharing{"ascending", true, true},
                             Sharing{"per graph", false, false}}) {
    measure_one(setup, decoder, how, json);
  }
  json.end_array();
}

void measure_fragmentation(const Setup& setup, JsonWriter& json) {
  Decoder decoder(setup.device, open_model(setup.small_model), decoder_options(setup.largest, 64));
  std::vector<Sequence> sequences = sequences_of(decoder, setup.largest);
  decoder.record();
  const MemoryStatistics recorded = decoder.pool().memory()->statistics();
  std::mt19937 random(2026);
  std::uniform_int_distribution<int> rows(1, setup.largest);
  std::uniform_int_distribution<std::size_t> length(1, kContext);
  std::vector<std::int32_t> prompt(kContext, 7);
  int prefills = 0;
  for (int step = 0; step < setup.random_steps; ++step) {
    if (step % 50 == 49) {
      sequences.front().set_length(0);
      const std::span<const std::int32_t> part(prompt.data(), length(random));
      decoder.prefill(sequences.front(), part, {});
      ++prefills;
    } else {
      run_step(decoder, sequences, rows(random),
               step % 2 == 0 ? RunMode::eager : RunMode::automatic);
    }
  }
  decoder.stream().synchronize();
  const MemoryStatistics after = decoder.pool().memory()->statistics();
  json.key("fragmentation")
      .begin_object()
      .member("model", setup.small_model)
      .member("after_ladder", recorded.fragmentation())
      .member("steps", setup.random_steps)
      .member("prefills", prefills)
      .member("after_steps", after.fragmentation())
      .member("reserved_mib", static_cast<double>(after.reserved_bytes.current) / kMiB)
      .member("segments", after.segment.current)
      .end_object();
}

}  // namespace reprise::bench_graph
