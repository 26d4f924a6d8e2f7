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

// A failure of this graph is told by its state.
void GraphPool::Impl::record_alone(Bucket& bucket, StateSaver& states, RecordReport& report) {
  if (bucket.state.get() == RunState::disabled) bucket.state.set(RunState::cold);
  bucket.reason.clear();
  try {
    warm_up(bucket.key, states);
    bucket.state.set(RunState::warm);
    states.restore(harness.lane().stream());
    harness.reload(harness.lane().stream());
    record_bucket(bucket, states, report);
    test(bucket, states);
  } catch (const std::exception& error) {
    if (harness.device().lost()) throw;
    disable(bucket, error.what());
  }
}

void GraphPool::Impl::record_lazily(Bucket& bucket, RecordReport& report) {
  harness.require_bound(bucket.key.variant);
  ++books(bucket.key).counters.lazy_recordings;
  try {
    between_runs([&](StateSaver& states) { record_alone(bucket, states, report); });
  } catch (const OutOfMemory& error) {
    if (harness.device().lost()) throw;
    disable(bucket, error.what());  // nothing is left of it: state had no place to be saved in
  }
}

RecordReport GraphPool::Impl::record_variant(int rows, Variant variant) {
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
