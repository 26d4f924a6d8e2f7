// SPDX-License-Identifier: Apache-2.0
// A bound buffer is elsewhere: which graphs are stale, and their repair (DESIGN §4.7).
#include "graph/graph_pool_impl.h"

namespace reprise {

const std::string* GraphPool::Impl::stale_reason(int variant) const {
  for (std::size_t index = 0; index < moved_.size(); ++index) {
    if (!moved_[index].empty() && harness.table()[index].seen_by(variant)) return &moved_[index];
  }
  return nullptr;
}

void GraphPool::Impl::make_stale(Slot slot, const std::string& why) {
  const BindingTable::Entry& entry = harness.table().entry(slot);
  for (Bucket& bucket : buckets) {
    if (bucket.state.get() != RunState::recorded || !entry.seen_by(bucket.key.variant)) continue;
    bucket.state.set(RunState::stale);
    bucket.reason = why;
    bucket.self_test = SelfTest::none;
  }
}

// All of them, not only the first: rebind() must not record against one that has moved as well.
void GraphPool::Impl::note_moves(std::span<const Input> inputs) {
  if (!recorded_) return;
  for (const Input& input : inputs) {
    const BindingTable::Entry& entry = harness.table().entry(input.slot);
    if (!entry.is_bound_kind() || !has_moved(entry, input.value)) continue;
    std::string& moved = moved_[static_cast<std::size_t>(input.slot.index)];
    moved = describe_move(entry, input.value);
    make_stale(input.slot, moved);
    harness.table().note_moved(input.slot);
  }
}

RecordReport GraphPool::Impl::rebind(std::span<const Input> tensors) {
  require_awake("rebind()");
  BindingTable& table = harness.table();
  for (const Input& tensor : tensors) table.check_bind(tensor.slot, tensor.value);
  harness.lane().order(harness.lane().stream());  // refuses what cannot be recorded now
  for (const Input& tensor : tensors) {
    const BindingTable::Entry& entry = table.entry(tensor.slot);
    std::string& moved = moved_[static_cast<std::size_t>(tensor.slot.index)];
    if (has_moved(entry, tensor.value)) {
      make_stale(tensor.slot, describe_move(entry, tensor.value));
    }
    table.bind(tensor.slot, tensor.value);
    moved.clear();
  }
  RecordReport report;
  const auto order = recording_order([this](const Bucket& bucket) {
    return bucket.state.get() == RunState::stale && stale_reason(bucket.key.variant) == nullptr;
  });
  if (!order.empty()) {
    between_runs([&](StateSaver& states) {
      for (Bucket* bucket : order) record_alone(*bucket, states, report);
    });
  }
  finish(report);
  return report;
}

}  // namespace reprise
