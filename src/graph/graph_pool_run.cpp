// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "graph/graph_pool_impl.h"

namespace reprise {

Bucket* GraphPool::Impl::find(int rows, Variant variant) noexcept {
  const auto size = std::lower_bound(sizes.begin(), sizes.end(), rows);
  if (size == sizes.end()) return nullptr;
  const auto first = static_cast<std::size_t>(variant.index) * sizes.size();
  return &buckets[first + static_cast<std::size_t>(size - sizes.begin())];
}

Variant GraphPool::Impl::find_variant(std::string_view name) const {
  for (std::size_t index = 0; index < variants.size(); ++index) {
    if (variants[index].options.name == name) return {static_cast<int>(index)};
  }
  std::string names;
  for (const VariantBooks& known : variants) {
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", known.options.name);
  }
  throw UsageError(
      fmt::format("pool '{}' has no variant '{}'; it has: {}", harness.step().name, name, names));
}

void GraphPool::Impl::check(Variant variant) const {
  if (variant.index >= 0 && static_cast<std::size_t>(variant.index) < variants.size()) return;
  throw UsageError(fmt::format("variant {} is not one of pool '{}'s {}; take it from variant()",
                               variant.index, harness.step().name, variants.size()));
}

void GraphPool::Impl::require_fresh(Variant variant) const {
  const std::string* const why = stale_reason(variant.index);
  if (why == nullptr) return;
  throw UsageError(fmt::format("pool '{}' is stale: {}", harness.step().name, *why));
}

GraphPool::Impl::Choice GraphPool::Impl::choose(int rows, Variant variant, RunMode mode) {
  if (rows < 1 || rows > max_rows) {
    throw UsageError(fmt::format("a batch of {} rows does not fit pool '{}': it takes 1 to {} rows",
                                 rows, harness.step().name, max_rows));
  }
  Choice choice{.bucket = find(rows, variant), .key = {rows, variant.index}};
  const bool asked_for_eager = mode == RunMode::eager;
  if (choice.bucket == nullptr) {
    choice.reason = FallbackReason::above_ladder;
  } else if (!options.allow_padding && choice.bucket->key.rows != rows) {
    choice.bucket = nullptr;
    choice.reason = FallbackReason::padding_refused;
  } else {
    choice.key = choice.bucket->key;
    answer(choice, asked_for_eager);
  }
  if (asked_for_eager) choice.reason = FallbackReason::none;
  return choice;
}

void GraphPool::Impl::answer(Choice& choice, bool asked_for_eager) const {
  const RunState state = choice.bucket->state.get();
  switch (answer_in(state)) {
    case ReplayAnswer::replays:
      choice.replay = !asked_for_eager;
      break;
    case ReplayAnswer::runs_eagerly:
      choice.reason = state == RunState::disabled ? FallbackReason::bucket_disabled
                                                  : FallbackReason::not_recorded;
      choice.prepare = recorded_ && !asked_for_eager && state == RunState::cold &&
                       books(choice.key).options.when == RecordWhen::first_use;
      break;
    case ReplayAnswer::refuses:
      throw UsageError(fmt::format("{} of pool '{}' cannot run now: it is {}{}{}",
                                   describe(choice.key, harness), harness.step().name,
                                   to_string(state), choice.bucket->reason.empty() ? "" : ": ",
                                   choice.bucket->reason));
  }
}

// Inputs that the run would refuse must not cost a recording.
void GraphPool::Impl::prepare(Bucket& bucket, std::span<const Input> inputs, int rows) {
  harness.check_inputs(inputs, rows, bucket.key.variant);
  RecordReport report;
  record_lazily(bucket, report);
}

// False where the executable that its graph needs could not be made: the size is disabled then.
bool GraphPool::Impl::fit(Bucket& bucket, Stream& stream) {
  if (bucket.recorded->fake()) return true;
  Executables& executables = harness.executables();
  if (executables.use(*bucket.recorded->graph)) return true;
  std::string line;
  try {
    line = executables.make_ready(*bucket.recorded->graph, stream);
  } catch (const std::exception& error) {
    if (harness.device().lost()) throw;
    disable(bucket, error.what());
    return false;
  }
  if (!line.empty()) note(fmt::format("pool '{}': {}", harness.step().name, line));
  return true;
}

RunResult GraphPool::Impl::run(Stream& stream, int rows, std::span<const Input> inputs,
                               Variant variant, RunMode mode) {
  require_awake("run()");
  check(variant);
  require_fresh(variant);
  Choice choice = choose(rows, variant, mode);
  const RangeScope range(choice.replay ? choice.bucket->replay_range : RangeName());
  harness.lane().order(stream);
  try {
    if (choice.prepare) {
      prepare(*choice.bucket, inputs, rows);
      choice = choose(rows, variant, mode);
      harness.lane().order(stream);
    }
    if (choice.replay && !fit(*choice.bucket, stream)) choice = choose(rows, variant, mode);
    harness.load(inputs, rows, choice.key, stream);
  } catch (const BoundBufferMoved&) {
    note_moves(inputs);
    throw;
  }
  if (choice.replay) {
    harness.replay(*choice.bucket->recorded, stream);
  } else {
    harness.call(StepPhase::eager, choice.key, stream);
  }
  harness.finish_run(rows);
  count(choice, rows);
  const RunPath replayed = fake() ? RunPath::fake : RunPath::replay;
  return {.path = choice.replay ? replayed : RunPath::eager,
          .reason = choice.reason,
          .rows = rows,
          .bucket = choice.key.rows};
}

void GraphPool::Impl::count(const Choice& choice, int rows) {
  const auto padding = static_cast<std::uint64_t>(choice.key.rows - rows);
  PoolCounters& counters = books(choice.key).counters;
  batches[static_cast<std::size_t>(rows - 1)] += 1;
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
  note_fallback(choice, rows);
}

void GraphPool::Impl::note_fallback(const Choice& choice, int rows) {
  bool& noted = books(choice.key).noted[static_cast<std::size_t>(choice.reason)];
  if (noted) return;
  noted = true;
  const std::string& variant = books(choice.key).options.name;
  const auto cause = [&]() -> std::string {
    switch (choice.reason) {
      case FallbackReason::above_ladder:
        return fmt::format("the largest recorded size is {}", sizes.back());
      case FallbackReason::padding_refused:
        return "no size matches it and padding is off";
      case FallbackReason::not_recorded:
        return fmt::format("its size is not recorded; call record{}",
                           recorded_ ? "_variant()" : "()");
      case FallbackReason::bucket_disabled:
        return "its size is disabled: " + choice.bucket->reason;
      case FallbackReason::none:
        break;
    }
    return "";
  };
  note(fmt::format(
      "a batch of {} rows of '{}'{} runs eagerly: {} (reason {}, counted from now on, not "
      "reported again)",
      rows, harness.step().name, variant.empty() ? "" : fmt::format(", variant '{}',", variant),
      cause(), to_string(choice.reason)));
}

void GraphPool::Impl::note(std::string_view line) const { options.on_note(line); }

}  // namespace reprise
