// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <reprise/graph_pool.h>

#include "device/backend.h"
#include "graph/graph_pool_impl.h"
#include "graph/named_inputs.h"

namespace reprise {
namespace {

std::size_t nodes_of(const Bucket& bucket) {
  return bucket.recorded && bucket.recorded->graph ? bucket.recorded->graph->graph.node_count() : 0;
}

std::size_t executable_bytes_of(const Bucket& bucket, const Executables& executables) {
  return bucket.recorded && bucket.recorded->graph ? executables.bytes_of(*bucket.recorded->graph)
                                                   : 0;
}

/// Sleep is the memory's, as loss is the device's: it is asked there.
RunState resting_state(const Bucket& bucket, bool asleep) {
  const RunState state = bucket.state.get();
  return state == RunState::recorded && asleep ? RunState::asleep : state;
}

}  // namespace

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
  return run(stream, rows, inputs, Variant{}, mode);
}

RunResult GraphPool::run(int rows, std::initializer_list<NamedInput> inputs,
                         std::string_view variant, RunMode mode) {
  return run(rows, ResolvedInputs(impl_->harness.table(), inputs).span(),
             impl_->find_variant(variant), mode);
}

RunResult GraphPool::run(int rows, std::span<const Input> inputs, Variant variant, RunMode mode) {
  return run(impl_->harness.lane().stream(), rows, inputs, variant, mode);
}

RunResult GraphPool::run(Stream& stream, int rows, std::span<const Input> inputs, Variant variant,
                         RunMode mode) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::run");
  return impl_->run(stream, rows, inputs, variant, mode);
}

RecordReport GraphPool::record_variant(int rows, std::string_view variant) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::record_variant");
  return impl_->record_variant(rows, impl_->find_variant(variant));
}

RecordReport GraphPool::rebind(std::string_view name, const TensorView& tensor) {
  return rebind({{name, tensor}});
}

RecordReport GraphPool::rebind(std::initializer_list<NamedInput> tensors) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::rebind");
  return impl_->rebind(ResolvedInputs(impl_->harness.table(), tensors).span());
}

std::optional<SelfTestResult> GraphPool::self_test_next() {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::self_test_next");
  return impl_->self_test_next();
}

PoolReadiness GraphPool::readiness() const {
  PoolReadiness readiness{.recorded = impl_->recorded() && !impl_->harness.device().lost(),
                          .asleep = impl_->asleep() || impl_->harness.lane().asleep()};
  const std::vector<BucketReport> reports = buckets();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const Bucket& bucket = impl_->buckets[i];
    RunState state = reports[i].state;
    if (state == RunState::asleep) {  // what it will be when it is awake
      state = impl_->asleep() ? bucket.before_sleep : bucket.state.get();
    }
    if (state == RunState::disabled) readiness.disabled.push_back(reports[i]);
    if (state != RunState::recorded) continue;
    ++readiness.graphs;
    if (reports[i].self_test == SelfTest::pending) ++readiness.pending;
  }
  return readiness;
}

void GraphPool::sleep() {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::sleep");
  impl_->sleep();
}

void GraphPool::wake() {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::wake");
  impl_->wake();
}

int GraphPool::bucket(int rows) const {
  const Bucket* bucket = impl_->find(rows, Variant{});
  return bucket != nullptr ? bucket->key.rows : rows;
}

void GraphPool::reset() {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::reset");
  impl_->reset();
}

Slot GraphPool::slot(std::string_view name) const { return impl_->harness.table().slot(name); }
Variant GraphPool::variant(std::string_view name) const { return impl_->find_variant(name); }
OutputView GraphPool::output(std::string_view name) const {
  return impl_->harness.output(slot(name));
}
OutputView GraphPool::output(Slot slot) const { return impl_->harness.output(slot); }

void GraphPool::read(const OutputView& output, std::span<std::byte> out) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphPool::read");
  impl_->harness.read(output, out);
}

PoolCounters GraphPool::counters() const {
  PoolCounters sum;
  for (const VariantBooks& variant : impl_->variants) sum += variant.counters;
  return sum;
}

PoolCounters GraphPool::counters(Variant variant) const {
  impl_->check(variant);
  return impl_->variants[static_cast<std::size_t>(variant.index)].counters;
}

std::span<const std::uint64_t> GraphPool::batches() const noexcept { return impl_->batches; }

ExecutableCounters GraphPool::executables() const {
  return impl_->harness.executables().counters();
}

std::vector<BucketReport> GraphPool::buckets() const {
  std::vector<BucketReport> reports;
  Device& device = impl_->harness.device();
  const bool lost = device.lost();
  const bool asleep = impl_->harness.lane().asleep();
  for (const Bucket& bucket : impl_->buckets) {
    reports.push_back(
        {.rows = bucket.key.rows,
         .variant = impl_->harness.variants()[static_cast<std::size_t>(bucket.key.variant)],
         .state = lost ? RunState::lost : resting_state(bucket, asleep),
         .reason = lost ? device.state().lost_cause : bucket.reason,
         .self_test = bucket.self_test,
         .nodes = nodes_of(bucket),
         .executable_bytes = executable_bytes_of(bucket, impl_->harness.executables()),
         .replays = bucket.replays,
         .fake_replays = bucket.fake_replays,
         .padded_rows = bucket.padded_rows,
         .fallbacks = bucket.fallbacks});
  }
  return reports;
}

const Graph& GraphPool::graph(int rows, Variant variant) const {
  impl_->check(variant);
  const Bucket* bucket = impl_->find(rows, variant);
  if (bucket == nullptr || bucket->key.rows != rows || !bucket->recorded) {
    throw UsageError(fmt::format("pool '{}' has no recorded graph of {} rows",
                                 impl_->harness.step().name, rows));
  }
  if (bucket->recorded->fake()) {
    throw UsageError(
        fmt::format("graph({}) of pool '{}': it was recorded with RecordMode::fake, which makes no "
                    "graph; record it with RecordMode::graphs",
                    rows, impl_->harness.step().name));
  }
  return bucket->recorded->graph->graph;
}

Stream& GraphPool::stream() noexcept { return impl_->harness.lane().stream(); }
const std::shared_ptr<MemoryPool>& GraphPool::memory() const noexcept {
  return impl_->harness.memory();
}

}  // namespace reprise
