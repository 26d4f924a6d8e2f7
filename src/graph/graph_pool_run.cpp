// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "graph/graph_pool_impl.h"

namespace reprise {

Bucket* GraphPool::Impl::find(int rows) noexcept {
  const auto found = std::lower_bound(buckets.begin(), buckets.end(), rows,
                                      [](const Bucket& bucket, int n) { return bucket.rows < n; });
  return found == buckets.end() ? nullptr : &*found;
}

void GraphPool::Impl::require_entry() const {
  if (stale_reason_.empty()) return;
  throw UsageError(fmt::format("pool '{}' is stale: {}", harness.step().name, stale_reason_));
}

GraphPool::Impl::Choice GraphPool::Impl::choose(int rows, RunMode mode) {
  if (rows < 1 || rows > max_rows) {
    throw UsageError(fmt::format("a batch of {} rows does not fit pool '{}': it takes 1 to {} rows",
                                 rows, harness.step().name, max_rows));
  }
  Choice choice{.bucket = find(rows), .rows = rows};
  const bool asked_for_eager = mode == RunMode::eager;
  if (choice.bucket == nullptr) {
    choice.reason = FallbackReason::above_ladder;
  } else if (!options.allow_padding && choice.bucket->rows != rows) {
    choice.bucket = nullptr;
    choice.reason = FallbackReason::padding_refused;
  } else {
    choice.rows = choice.bucket->rows;
    const RunState state = choice.bucket->state.get();
    switch (answer_in(state)) {
      case ReplayAnswer::replays:
        choice.replay = !asked_for_eager;
        break;
      case ReplayAnswer::runs_eagerly:
        choice.reason = state == RunState::disabled ? FallbackReason::bucket_disabled
                                                    : FallbackReason::not_recorded;
        break;
      case ReplayAnswer::refuses:
        throw UsageError(fmt::format("size {} of pool '{}' is {}; it cannot run now",
                                     choice.bucket->rows, harness.step().name, to_string(state)));
    }
  }
  if (asked_for_eager) choice.reason = FallbackReason::none;
  return choice;
}

RunResult GraphPool::Impl::run(Stream& stream, int rows, std::span<const Input> inputs,
                               RunMode mode) {
  require_entry();
  const Choice choice = choose(rows, mode);
  const RangeScope range(choice.replay ? choice.bucket->replay_range : RangeName());
  harness.lane().order(stream);
  try {
    harness.load(inputs, rows, choice.rows, stream);
  } catch (const BoundBufferMoved& moved) {
    if (recorded_) stale_reason_ = moved.what();
    for (Bucket& bucket : buckets) {
      if (can_transition(bucket.state.get(), RunState::stale)) bucket.state.set(RunState::stale);
    }
    throw;
  }
  if (choice.replay) {
    harness.replay(*choice.bucket->recorded, stream);
  } else {
    harness.call(StepPhase::eager, choice.rows, stream);
  }
  harness.finish_run(rows);
  count(choice, rows);
  const RunPath replayed = fake() ? RunPath::fake : RunPath::replay;
  return {.path = choice.replay ? replayed : RunPath::eager,
          .reason = choice.reason,
          .rows = rows,
          .bucket = choice.rows};
}

void GraphPool::Impl::count(const Choice& choice, int rows) {
  const auto padding = static_cast<std::uint64_t>(choice.rows - rows);
  counters.padded_rows += padding;
  std::uint64_t& replays = fake() ? counters.fake_replays : counters.replays;
  (choice.replay ? replays : counters.eager_steps) += 1;
  if (choice.bucket != nullptr) {
    choice.bucket->padded_rows += padding;
    if (choice.replay) (fake() ? choice.bucket->fake_replays : choice.bucket->replays) += 1;
  }
  if (choice.reason == FallbackReason::none) return;
  if (choice.bucket != nullptr) choice.bucket->fallbacks += 1;
  counters.fallbacks[static_cast<std::size_t>(choice.reason)] += 1;
  note_fallback(choice.reason, rows);
}

void GraphPool::Impl::note_fallback(FallbackReason reason, int rows) {
  bool& noted = noted_[static_cast<std::size_t>(reason)];
  if (noted) return;
  noted = true;
  const auto cause = [&]() -> std::string {
    switch (reason) {
      case FallbackReason::above_ladder:
        return fmt::format("the largest recorded size is {}", sizes.back());
      case FallbackReason::padding_refused:
        return "no size matches it and padding is off";
      case FallbackReason::not_recorded:
        return "its size is not recorded; call record()";
      case FallbackReason::bucket_disabled:
        return "its size is disabled: " + find(rows)->reason;
      case FallbackReason::none:
        break;
    }
    return "";
  };
  note(fmt::format(
      "a batch of {} rows of '{}' runs eagerly: {} (reason {}, counted from now on, not "
      "reported again)",
      rows, harness.step().name, cause(), to_string(reason)));
}

void GraphPool::Impl::note(std::string_view line) const { options.on_note(line); }

}  // namespace reprise
