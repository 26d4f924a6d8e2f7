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
  harness.lane().rest_with(harness.memory(), options.sleeps_with);
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
  bucket.state.set(RunState::disabled);
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
    const RangeScope range(harness.range_name("warm up", rows));
    for (int i = 0; i < options.warm_ups; ++i) {
      harness.reload(stream);
      states.restore(stream);
      harness.call(StepPhase::warm_up, rows, stream);
    }
  };
  if (max_rows > sizes.back()) run(max_rows);
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
    run(bucket->rows);
    bucket->state.set(RunState::warm);
  }
  states.restore(stream);
  harness.reload(stream);
  stream.synchronize();
}

void GraphPool::Impl::record_bucket(Bucket& bucket, RecordReport& report) {
  const RangeScope range(harness.range_name("record", bucket.rows));
  bucket.state.set(RunState::recording);
  bucket.replay_range = harness.range_name(fake() ? "fake replay" : "replay", bucket.rows);
  bucket.recorded.emplace(
      harness.record(bucket.rows, options.record_mode, [&](std::string_view line) {
        ++report.retried;
        note(line);
      }));
  bucket.state.set(RunState::recorded);
}

void GraphPool::Impl::record_buckets(RecordReport& report, StateSaver& states) {
  std::exception_ptr first_error;
  std::size_t done = 0;
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
    const auto start = Clock::now();
    try {
      record_bucket(*bucket, report);
      report.recorded.push_back(bucket->rows);
    } catch (const std::exception& error) {
      if (harness.device().lost()) throw;
      if (!first_error) first_error = std::current_exception();
      disable(*bucket, error.what());
    }
    if (fake()) {  // the step ran, maybe in part
      states.restore(harness.lane().stream());
      harness.reload(harness.lane().stream());
    }
    report.record_seconds += seconds_since(start);
    if (options.on_progress) options.on_progress(++done, buckets.size());
  }
  if (report.recorded.empty()) std::rethrow_exception(first_error);
}

void GraphPool::Impl::test_buckets(StateSaver& states) {
  if (!options.self_test || harness.step().undeclared_state) return;
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
    if (!bucket->recorded) continue;
    if (const auto difference = self_test(harness, *bucket->recorded, bucket->rows, states)) {
      disable(*bucket, *difference);
    }
  }
}

RecordReport GraphPool::Impl::record_all(StateSaver& states) {
  RecordReport report;
  report.mode = options.record_mode;
  auto start = Clock::now();
  warm_up(states);
  report.warm_up_seconds = seconds_since(start);

  const std::size_t free_before = harness.device().memory_info().free;
  record_buckets(report, states);
  const std::size_t free_after = harness.device().memory_info().free;
  report.executable_bytes = free_before > free_after && !fake() ? free_before - free_after : 0;

  start = Clock::now();
  test_buckets(states);
  harness.lane().stream().synchronize();
  report.self_test_seconds = seconds_since(start);
  for (const Bucket& bucket : buckets) {
    if (bucket.state.get() == RunState::disabled) report.disabled.push_back(bucket.rows);
  }
  report.pool_bytes = harness.memory()->statistics().reserved_bytes.current;
  return report;
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
  try {
    RecordReport report = record_all(states);
    recorded_ = true;
    return report;
  } catch (...) {
    states.restore_quietly(stream);
    drop_graphs();
    throw;
  }
}

void GraphPool::Impl::drop_graphs() {
  for (Bucket& bucket : buckets) {
    bucket.recorded.reset();
    bucket.state.set(RunState::cold);
    bucket.reason.clear();
  }
  harness.forget_runs();
  recorded_ = false;
}

void GraphPool::Impl::reset() {
  drop_graphs();
  harness.table().unbind_all();
  stale_reason_.clear();
}

}  // namespace reprise
