// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "core/log.h"
#include "graph/graph_pool_impl.h"
#include "graph/ladder.h"

namespace reprise {
namespace {

int most_rows(const GraphPoolOptions& options) {
  if (options.max_rows != 0) return options.max_rows;
  return options.sizes.empty() ? 0 : checked_ladder(options.sizes, 0).back();
}

std::vector<std::string> names(const GraphPoolOptions& options) {
  std::vector<std::string> names;
  for (const VariantOptions& variant : options.variants) {
    if (variant.name.empty()) throw UsageError("a variant of a pool has no name");
    if (std::find(names.begin(), names.end(), variant.name) != names.end()) {
      throw UsageError(fmt::format("two variants of a pool are named '{}'", variant.name));
    }
    names.push_back(variant.name);
  }
  if (names.empty()) names.emplace_back();
  return names;
}

}  // namespace

GraphPool::Impl::Impl(std::shared_ptr<Device> device, Step step, GraphPoolOptions pool_options)
    : options(std::move(pool_options)),
      sizes(options.sizes.empty() ? default_ladder(options.max_rows)
                                  : checked_ladder(options.sizes, options.max_rows)),
      max_rows(most_rows(options)),
      harness(std::move(device), std::move(step), max_rows, options.memory, names(options),
              {.share = options.share_executables, .most = options.max_executables}) {
  if (options.warm_ups < 1) throw UsageError("a pool needs at least 1 warm-up run per size");
  if (!options.on_note) options.on_note = stderr_sink();
  harness.lane().rest_with(harness.memory(), options.sleeps_with);
  if (options.variants.empty()) options.variants.emplace_back();
  batches.assign(static_cast<std::size_t>(max_rows), 0);
  moved_.resize(harness.table().size());
  for (const VariantOptions& variant : options.variants) {
    const int index = static_cast<int>(variants.size());
    variants.push_back({.options = variant});
    for (int size : sizes) buckets.push_back({.key = {size, index}});
  }
  for (const Binding& binding : harness.step().bindings) {
    for (const std::string& variant : binding.variants) (void)find_variant(variant);
  }
}

void GraphPool::Impl::bind(std::string_view name, const TensorView& tensor) {
  const Slot slot = harness.table().slot(name);
  if (harness.table().entry(slot).bound.data != nullptr) {
    throw UsageError(fmt::format("'{}' of pool '{}' is bound already; call reset() first", name,
                                 harness.step().name));
  }
  harness.table().bind(slot, tensor);
}

void GraphPool::Impl::disable(Bucket& bucket, const std::string& why) {
  bucket.recorded.reset();
  bucket.state.set(RunState::disabled);
  bucket.reason = why;
  if (bucket.self_test != SelfTest::failed) bucket.self_test = SelfTest::none;
  const std::string& variant = books(bucket.key).options.name;
  note(fmt::format("size {} of '{}'{} is disabled and will run eagerly: {}", bucket.key.rows,
                   harness.step().name,
                   variant.empty() ? "" : fmt::format(", variant '{}',", variant), why));
}

// Largest first, so that smaller sizes find their memory in what larger ones gave back.
std::vector<Bucket*> GraphPool::Impl::recording_order(
    const std::function<bool(const Bucket&)>& wanted) {
  std::vector<Bucket*> order;
  for (std::size_t size = sizes.size(); size-- > 0;) {
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
      Bucket& bucket = buckets[variant * sizes.size() + size];
      if (wanted(bucket)) order.push_back(&bucket);
    }
  }
  return order;
}

void GraphPool::Impl::warm_up(StepKey key, StateSaver& states) {
  Stream& stream = harness.lane().stream();
  const RangeScope range(harness.range_name("warm up", key));
  for (int i = 0; i < options.warm_ups; ++i) {
    harness.reload(stream);
    states.restore(stream);
    harness.call(StepPhase::warm_up, key, stream);
  }
}

// Pass one: every size runs before any is recorded, so that modules, plans and workspaces have
// grown to their largest; a workspace that grew for a smaller size later would leave a recorded
// address behind.
void GraphPool::Impl::warm_up_all(std::span<Bucket* const> order, StateSaver& states) {
  Stream& stream = harness.lane().stream();
  if (max_rows > sizes.back()) {
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
      if (variants[variant].options.when != RecordWhen::at_record) continue;
      warm_up({max_rows, static_cast<int>(variant)}, states);
    }
  }
  std::size_t done = 0;
  for (Bucket* bucket : order) {
    const Stopwatch watch;
    try {
      warm_up(bucket->key, states);
      bucket->state.set(RunState::warm);
    } catch (const OutOfMemory&) {
      throw;  // not this size's fault: the caller may make room and record again
    } catch (const std::exception& error) {
      if (harness.device().lost()) throw;
      if (!first_error_) first_error_ = std::current_exception();
      disable(*bucket, error.what());
    }
    progress(PoolPhase::warm_up, *bucket, ++done, order.size(), watch);
  }
  states.restore(stream);
  harness.reload(stream);
  if (options.lazy_scratch_bytes > 0) harness.memory()->reserve(options.lazy_scratch_bytes);
  stream.synchronize();
}

void GraphPool::Impl::record_bucket(Bucket& bucket, StateSaver& states, RecordReport& report) {
  bucket.state.set(RunState::recording);
  const RangeScope range(harness.range_name("record", bucket.key));
  bucket.replay_range = harness.range_name(fake() ? "fake replay" : "replay", bucket.key);
  try {
    auto former = take_executable(bucket.recorded);
    bucket.recorded.emplace(harness.record(bucket.key, options.record_mode, std::move(former),
                                           [&](std::string_view line) {
                                             ++report.retried;
                                             note(line);
                                           }));
    bucket.state.set(RunState::recorded);
    bucket.self_test = wants_tests() ? SelfTest::pending : SelfTest::none;
    report.recorded.push_back(bucket.key.rows);
  } catch (const std::exception& error) {
    if (harness.device().lost()) throw;
    if (!first_error_) first_error_ = std::current_exception();
    disable(bucket, error.what());
  }
  if (fake()) {  // the step ran, maybe in part
    states.restore(harness.lane().stream());
    harness.reload(harness.lane().stream());
  }
}

void GraphPool::Impl::record_buckets(std::span<Bucket* const> order, StateSaver& states,
                                     RecordReport& report) {
  std::size_t done = 0;
  for (Bucket* bucket : order) {
    const Stopwatch watch;
    if (bucket->state.get() == RunState::warm) record_bucket(*bucket, states, report);
    report.record_seconds += watch.seconds();
    progress(PoolPhase::record, *bucket, ++done, order.size(), watch);
  }
  if (report.recorded.empty() && first_error_) std::rethrow_exception(first_error_);
}

// The device hands out memory in steps of megabytes, so one executable shows as nothing or as far
// too much: a ladder is measured, and its parts told by their nodes (DESIGN §6). On the host they
// are memory of the process, and the machine's free memory tells what others do: there it is 0.
std::size_t GraphPool::Impl::measure_executables(const std::function<void()>& work) {
  const bool shows = !fake() && harness.device().kind() != DeviceKind::host;
  const std::size_t free_before = harness.device().memory_info().free;
  work();
  const std::size_t free_after = harness.device().memory_info().free;
  const std::size_t bytes = shows && free_before > free_after ? free_before - free_after : 0;
  harness.executables().measured(bytes);
  return bytes;
}

void GraphPool::Impl::progress(PoolPhase phase, const Bucket& bucket, std::size_t done,
                               std::size_t of, const Stopwatch& watch) const {
  if (!options.on_progress) return;
  options.on_progress({.phase = phase,
                       .rows = bucket.key.rows,
                       .variant = books(bucket.key).options.name,
                       .done = done,
                       .of = of,
                       .seconds = watch.seconds()});
}

void GraphPool::Impl::record_all(std::span<Bucket* const> order, StateSaver& states,
                                 RecordReport& report) {
  first_error_ = nullptr;
  const Stopwatch warming;
  warm_up_all(order, states);
  report.warm_up_seconds = warming.seconds();

  harness.executables().forget_measure();
  report.executable_bytes = measure_executables([&] { record_buckets(order, states, report); });

  const Stopwatch testing;
  if (!options.postpone_self_test) test_all(order, states);
  harness.lane().stream().synchronize();
  report.self_test_seconds = testing.seconds();
}

void GraphPool::Impl::finish(RecordReport& report) const {
  report.mode = options.record_mode;
  for (const Bucket& bucket : buckets) {
    if (bucket.state.get() == RunState::disabled) report.disabled.push_back(bucket.key.rows);
  }
  report.pool_bytes = harness.memory()->statistics().reserved_bytes.current;
}

RecordReport GraphPool::Impl::record() {
  require_awake("record()");
  if (recorded_) {
    throw UsageError(fmt::format(
        "pool '{}' is recorded already; call reset() before recording again", harness.step().name));
  }
  const auto order = recording_order([this](const Bucket& bucket) {
    return books(bucket.key).options.when == RecordWhen::at_record;
  });
  for (const Bucket* bucket : order) harness.require_bound(bucket->key.variant);
  Stream& stream = harness.lane().stream();
  harness.lane().order(stream);
  harness.load_padding(stream);
  StateSaver states(harness, stream);
  try {
    RecordReport report;
    record_all(order, states, report);
    finish(report);
    recorded_ = true;
    return report;
  } catch (...) {
    states.restore_quietly(stream);
    drop_graphs();
    throw;
  }
}

void GraphPool::Impl::drop_graphs() {
  for (Bucket& bucket : buckets) give_up(bucket);
  harness.forget_runs();
  recorded_ = false;
}

void GraphPool::Impl::reset() {
  require_awake("reset()");
  drop_graphs();
  harness.table().unbind_all();
  std::fill(moved_.begin(), moved_.end(), std::string());
}

}  // namespace reprise
