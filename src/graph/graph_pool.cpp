// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <reprise/graph_pool.h>

#include "device/backend.h"
#include "graph/graph_pool_impl.h"
#include "graph/named_inputs.h"

namespace reprise {
namespace {

std::size_t nodes_of(const Bucket& bucket) {
  return bucket.recorded && !bucket.recorded->fake() ? bucket.recorded->graph->node_count() : 0;
}

/// Sleep is the memory's, as loss is the device's: it is asked there.
RunState resting_state(const Bucket& bucket, bool asleep) {
  const RunState state = bucket.state.get();
  return state == RunState::recorded && asleep ? RunState::asleep : state;
}

}  // namespace

std::string_view to_string(FallbackReason reason) noexcept {
  switch (reason) {
    case FallbackReason::none:
      return "none";
    case FallbackReason::above_ladder:
      return "above_ladder";
    case FallbackReason::padding_refused:
      return "padding_refused";
    case FallbackReason::not_recorded:
      return "not_recorded";
    case FallbackReason::bucket_disabled:
      return "bucket_disabled";
  }
  return "?";
}

std::uint64_t PoolCounters::all_fallbacks() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint64_t count : fallbacks) sum += count;
  return sum;
}

GraphPool::GraphPool(std::shared_ptr<Device> device, Step step, GraphPoolOptions options)
    : impl_(std::make_unique<Impl>(std::move(device), std::move(step), std::move(options))) {}
GraphPool::~GraphPool() = default;
GraphPool::GraphPool(GraphPool&&) noexcept = default;
GraphPool& GraphPool::operator=(GraphPool&&) noexcept = default;

void GraphPool::bind(std::string_view name, const TensorView& tensor) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::bind");
  impl_->bind(name, tensor);
}

RecordReport GraphPool::record() {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::record");
  return impl_->record();
}

RunResult GraphPool::run(int rows, std::initializer_list<NamedInput> inputs, RunMode mode) {
  return run(rows, ResolvedInputs(impl_->harness.table(), inputs).span(), mode);
}

RunResult GraphPool::run(int rows, std::span<const Input> inputs, RunMode mode) {
  return run(impl_->harness.lane().stream(), rows, inputs, mode);
}

RunResult GraphPool::run(Stream& stream, int rows, std::span<const Input> inputs, RunMode mode) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::run");
  return impl_->run(stream, rows, inputs, mode);
}

int GraphPool::bucket(int rows) const {
  const Bucket* bucket = impl_->find(rows);
  return bucket != nullptr ? bucket->rows : rows;
}

void GraphPool::reset() {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::reset");
  impl_->reset();
}

Slot GraphPool::slot(std::string_view name) const { return impl_->harness.table().slot(name); }
OutputView GraphPool::output(std::string_view name) const {
  return impl_->harness.output(slot(name));
}
OutputView GraphPool::output(Slot slot) const { return impl_->harness.output(slot); }

void GraphPool::read(const OutputView& output, std::span<std::byte> out) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::read");
  impl_->harness.read(output, out);
}

PoolCounters GraphPool::counters() const { return impl_->counters; }

std::vector<BucketReport> GraphPool::buckets() const {
  std::vector<BucketReport> reports;
  Device& device = impl_->harness.device();
  const bool lost = device.lost();
  const bool asleep = impl_->harness.lane().asleep();
  for (const Bucket& bucket : impl_->buckets) {
    reports.push_back({.rows = bucket.rows,
                       .state = lost ? RunState::lost : resting_state(bucket, asleep),
                       .reason = lost ? device.state().lost_cause : bucket.reason,
                       .nodes = nodes_of(bucket),
                       .replays = bucket.replays,
                       .fake_replays = bucket.fake_replays,
                       .padded_rows = bucket.padded_rows,
                       .fallbacks = bucket.fallbacks});
  }
  return reports;
}

const Graph& GraphPool::graph(int rows) const {
  const Bucket* bucket = impl_->find(rows);
  if (bucket == nullptr || bucket->rows != rows || !bucket->recorded) {
    throw UsageError(fmt::format("pool '{}' has no recorded graph of {} rows",
                                 impl_->harness.step().name, rows));
  }
  if (bucket->recorded->fake()) {
    throw UsageError(
        fmt::format("graph({}) of pool '{}': it was recorded with RecordMode::fake, which makes no "
                    "graph; record it with RecordMode::graphs",
                    rows, impl_->harness.step().name));
  }
  return *bucket->recorded->graph;
}

Stream& GraphPool::stream() noexcept { return impl_->harness.lane().stream(); }
const std::shared_ptr<MemoryPool>& GraphPool::memory() const noexcept {
  return impl_->harness.memory();
}

}  // namespace reprise
