// SPDX-License-Identifier: Apache-2.0
// What a recorded pool does to single graphs between two runs, without a trace in what runs use.
#include <fmt/format.h>

#include "graph/graph_pool_impl.h"

namespace reprise {

// The inputs of the latest run lie where padding is wanted; they come back, as state does.
void GraphPool::Impl::between_runs(const std::function<void(StateSaver&)>& work) {
  Stream& stream = harness.lane().stream();
  harness.lane().order(stream);
  const KeptInputs inputs = harness.keep_inputs(stream);
  StateSaver states(harness, stream);
  try {
    harness.load_padding(stream);
    work(states);
    states.restore(stream);
  } catch (...) {
    states.restore_quietly(stream);
    harness.give_back_inputs_quietly(inputs, stream);
    throw;
  }
  harness.give_back_inputs(inputs, stream);
}

// Its executable stays, for the next recording to bring up to date.
void GraphPool::Impl::begin_again(Bucket& bucket) {
  bucket.state.set(RunState::cold);
  bucket.reason.clear();
  bucket.self_test = SelfTest::none;
}

void GraphPool::Impl::give_up(Bucket& bucket) noexcept {
  begin_again(bucket);
  bucket.recorded.reset();
}

// A failure of this graph is told by its state.
void GraphPool::Impl::record_alone(Bucket& bucket, StateSaver& states, RecordReport& report) {
  Stream& stream = harness.lane().stream();
  begin_again(bucket);
  try {
    const Stopwatch warming;
    warm_up(bucket.key, states);
    states.restore(stream);
    harness.reload(stream);
    bucket.state.set(RunState::warm);
    report.warm_up_seconds += warming.seconds();
    const Stopwatch recording;
    report.executable_bytes += measure_executables([&] { record_bucket(bucket, states, report); });
    report.record_seconds += recording.seconds();
    const Stopwatch testing;
    if (!options.postpone_self_test) test(bucket, states);
    report.self_test_seconds += testing.seconds();
  } catch (const std::exception& error) {
    if (!harness.device().lost()) return disable(bucket, error.what());
    give_up(bucket);
    throw;
  } catch (...) {  // nobody's error, but not a reason to leave it half recorded
    give_up(bucket);
    throw;
  }
}

void GraphPool::Impl::record_lazily(Bucket& bucket, RecordReport& report) {
  harness.require_bound(bucket.key.variant);
  ++books(bucket.key).counters.lazy_recordings;
  try {
    between_runs([&](StateSaver& states) { record_alone(bucket, states, report); });
  } catch (const OutOfMemory& error) {
    if (harness.device().lost()) throw;
    begin_again(bucket);
    disable(bucket, error.what());  // nothing is left of it: state had no place to be saved in
  }
}

RecordReport GraphPool::Impl::record_variant(int rows, Variant variant) {
  require_awake("record_variant()");
  if (!recorded_) {
    throw UsageError(fmt::format("record_variant() of pool '{}' before record(); call that first",
                                 harness.step().name));
  }
  require_fresh(variant);
  Bucket* const bucket = rows < 1 ? nullptr : find(rows, variant);
  if (bucket == nullptr) {
    throw UsageError(
        fmt::format("record_variant() of pool '{}': {} rows are no size of its ladder, "
                    "which goes from {} to {}",
                    harness.step().name, rows, sizes.front(), sizes.back()));
  }
  RecordReport report;
  if (bucket->state.get() != RunState::recorded) record_lazily(*bucket, report);
  finish(report);
  return report;
}

}  // namespace reprise
