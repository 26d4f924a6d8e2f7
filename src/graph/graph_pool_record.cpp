// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <exception>

#include <fmt/format.h>

#include "core/log.h"
#include "graph/graph_pool_impl.h"
#include "graph/ladder.h"
#include "graph/self_test.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int most_rows(const GraphPoolOptions& options) {
  if (options.max_rows != 0) return options.max_rows;
  return options.sizes.empty() ? 0 : checked_ladder(options.sizes, 0).back();
}

}  // namespace

GraphPool::Impl::Impl(std::shared_ptr<Device> device, Step step, GraphPoolOptions pool_options)
    : options(std::move(pool_options)),
      sizes(options.sizes.empty() ? default_ladder(options.max_rows)
                                  : checked_ladder(options.sizes, options.max_rows)),
      max_rows(most_rows(options)),
      harness(std::move(device), std::move(step), max_rows, options.memory) {
  if (options.warm_ups < 1) throw UsageError("a pool needs at least 1 warm-up run per size");
  if (!options.on_note) options.on_note = stderr_sink();
  for (int size : sizes) buckets.push_back({.rows = size});
}

void GraphPool::Impl::bind(std::string_view name, const TensorView& tensor) {
  const Slot slot = harness.table().slot(name);
  if (recorded_ || harness.table().entry(slot).bound.data != nullptr) {
    throw UsageError(fmt::format("'{}' of pool '{}' is bound already; call reset() first", name,
                                 harness.step().name));
  }
  harness.table().bind(slot, tensor);
}

void GraphPool::Impl::disable(Bucket& bucket, const std::string& why) {
  bucket.recorded.reset();
  bucket.state = RunState::disabled;
  bucket.reason = why;
  note(fmt::format("size {} of '{}' is disabled and will run eagerly: {}", bucket.rows,
                   harness.step().name, why));
}

// Pass one: every size runs before any is recorded, so that modules, plans and workspaces have
// grown to their largest; a workspace that grew for a smaller size later would leave a recorded
// address behind.
void GraphPool::Impl::warm_up(StateSaver& states) {
  Stream& stream = harness.lane().stream();
  const auto run = [&](int rows) {
    for (int i = 0; i < options.warm_ups; ++i) {
      harness.reload(stream);
      harness.call(StepPhase::warm_up, rows, stream);
    }
  };
  if (max_rows > sizes.back()) run(max_rows);
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
    run(bucket->rows);
    bucket->state = RunState::warm;
  }
  states.restore(stream);
  harness.reload(stream);
  stream.synchronize();
}

void GraphPool::Impl::record_bucket(Bucket& bucket) {
  bucket.state = RunState::recording;
  bucket.recorded.emplace(harness.record(bucket.rows));
  bucket.state = RunState::recorded;
}

void GraphPool::Impl::test_bucket(Bucket& bucket, StateSaver& states) {
  if (const auto difference = self_test(harness, *bucket.recorded, bucket.rows, states)) {
    disable(bucket, *difference);
  }
}

RecordReport GraphPool::Impl::record() {
  if (recorded_) {
    throw UsageError(fmt::format(
        "pool '{}' is recorded already; call reset() before recording again", harness.step().name));
  }
  harness.require_bound();
  Stream& stream = harness.lane().stream();
  harness.lane().order(stream);
  harness.load_padding(stream);
  StateSaver states(harness, stream);

  RecordReport report;
  auto start = Clock::now();
  warm_up(states);
  report.warm_up_seconds = seconds_since(start);

  const std::size_t free_before = harness.device().memory_info().free;
  const bool test = options.self_test && !harness.step().undeclared_state;
  std::exception_ptr first_error;
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
    start = Clock::now();
    try {
      record_bucket(*bucket);
      report.recorded.push_back(bucket->rows);
    } catch (const Error& error) {
      if (harness.device().lost()) throw;
      if (!first_error) first_error = std::current_exception();
      disable(*bucket, error.what());
    }
    report.record_seconds += seconds_since(start);
    if (options.on_progress) options.on_progress(report.recorded.size(), buckets.size());
  }
  if (report.recorded.empty()) {
    reset();
    std::rethrow_exception(first_error);
  }
  const std::size_t free_after = harness.device().memory_info().free;
  report.executable_bytes = free_before > free_after ? free_before - free_after : 0;

  start = Clock::now();
  for (auto bucket = buckets.rbegin(); test && bucket != buckets.rend(); ++bucket) {
    if (bucket->recorded) test_bucket(*bucket, states);
  }
  stream.synchronize();
  report.self_test_seconds = seconds_since(start);
  for (const Bucket& bucket : buckets) {
    if (bucket.state == RunState::disabled) report.disabled.push_back(bucket.rows);
  }
  report.pool_bytes = harness.memory()->statistics().reserved_bytes.current;
  recorded_ = true;
  return report;
}

void GraphPool::Impl::reset() {
  for (Bucket& bucket : buckets) {
    bucket.recorded.reset();
    bucket.state = RunState::cold;
    bucket.reason.clear();
  }
  harness.table().unbind_all();
  harness.forget_runs();
  stale_reason_.clear();
  recorded_ = false;
}

}  // namespace reprise
