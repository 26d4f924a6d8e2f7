// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <reprise/graph_runner.h>

#include "core/log.h"
#include "device/backend.h"
#include "graph/named_inputs.h"
#include "graph/self_test.h"
#include "graph/state_saver.h"
#include "graph/step_harness.h"
#include "graph/tracked_state.h"

namespace reprise {

struct GraphRunner::Impl {
  Impl(std::shared_ptr<Device> device, Step step, RunnerOptions runner_options)
      : options(std::move(runner_options)),
        key{options.rows, 0},
        harness(std::move(device), std::move(step), options.rows, options.memory,
                {options.variant}) {
    if (options.warm_ups < 1) throw UsageError("a runner needs at least 1 warm-up run");
    if (!options.on_note) options.on_note = stderr_sink();
    harness.lane().rest_with(harness.memory(), options.sleeps_with);
  }

  const std::string& name() const { return harness.step().name; }
  void capture(std::span<const Input> inputs);
  void bind_all(std::span<const Input> inputs);
  /// Puts inputs in place by `give_inputs`, warms up, records and tests. After an exception the
  /// state tensors are as before, and the runner is cold, or disabled by its self-test.
  void make(Stream& stream, const std::function<void()>& give_inputs);
  void warm_up(StateSaver& states);
  void record(StateSaver& states);
  void record_and_test(StateSaver& states);
  void require_recorded(std::string_view call);
  void load(std::span<const Input> inputs, Stream& stream);
  void replay(Stream& stream, std::span<const Input> inputs);
  void rebind(std::span<const Input> tensors);
  void reset();

  RunnerOptions options;
  StepKey key;
  StepHarness harness;
  TrackedState state;
  std::string reason;
  std::optional<RecordedStep> recorded;
  std::uint64_t retried = 0;
  RangeName replay_range;  // made by capture()
};

void GraphRunner::Impl::bind_all(std::span<const Input> inputs) {
  for (const Input& input : inputs) {
    const BindingKind kind = harness.table().entry(input.slot).binding.kind;
    if (kind == BindingKind::bound || kind == BindingKind::state) {
      harness.table().bind(input.slot, input.value);
    }
  }
  harness.require_bound(key.variant);
}

void GraphRunner::Impl::capture(std::span<const Input> inputs) {
  if (state.get() != RunState::cold) {
    throw UsageError(fmt::format("runner '{}' is {}; call reset() before a second capture", name(),
                                 to_string(state.get())));
  }
  Stream& stream = harness.lane().stream();
  harness.lane().order(stream);
  make(stream, [&] {
    bind_all(inputs);
    harness.forget_runs();
    harness.load(inputs, options.rows, key, stream);
  });
}

void GraphRunner::Impl::make(Stream& stream, const std::function<void()>& give_inputs) {
  try {
    give_inputs();
    StateSaver states(harness, stream);
    try {
      warm_up(states);
      record_and_test(states);
      stream.synchronize();
    } catch (...) {
      states.restore_quietly(stream);
      throw;
    }
  } catch (...) {
    if (state.get() != RunState::disabled) reset();
    throw;
  }
}

void GraphRunner::Impl::warm_up(StateSaver& states) {
  const RangeScope range(harness.range_name("warm up", key));
  Stream& stream = harness.lane().stream();
  for (int i = 0; i < options.warm_ups; ++i) {
    harness.reload(stream);
    states.restore(stream);
    harness.call(StepPhase::warm_up, key, stream);
  }
  stream.synchronize();
  states.restore(stream);
  harness.reload(stream);
  state.set(RunState::warm);
}

void GraphRunner::Impl::record(StateSaver& states) {
  const RangeScope range(harness.range_name("record", key));
  const bool fake = options.record_mode == RecordMode::fake;
  replay_range = harness.range_name(fake ? "fake replay" : "replay", key);
  state.set(RunState::recording);
  auto former = take_executable(recorded);
  recorded.emplace(
      harness.record(key, options.record_mode, std::move(former), [this](std::string_view line) {
        ++retried;
        options.on_note(line);
      }));
  if (!fake) return;
  states.restore(harness.lane().stream());  // it ran
  harness.reload(harness.lane().stream());
}

void GraphRunner::Impl::record_and_test(StateSaver& states) {
  record(states);
  if (options.self_test && !harness.step().undeclared_state) {
    const auto difference = self_test(harness, *recorded, states);
    if (const std::string line = states.staging().take_note(); !line.empty()) options.on_note(line);
    if (difference) {
      state.set(RunState::disabled);
      reason = *difference;
      throw Error(
          fmt::format("runner '{}': {}; the step must enqueue all its work on the context's "
                      "stream and write what it reads",
                      name(), reason));
    }
  }
  state.set(RunState::recorded);
}

void GraphRunner::Impl::require_recorded(std::string_view call) {
  if (state.get() == RunState::recorded) return;
  harness.device().state().require_usable();  // where it is lost, that is the reason
  const char* fix = state.get() == RunState::cold    ? "call capture() first"
                    : state.get() == RunState::stale ? "or reset() and capture() again"
                                                     : "call reset() and capture() again";
  throw UsageError(fmt::format("{} of runner '{}' is refused: it is {}{}{}; {}", call, name(),
                               to_string(state.get()), reason.empty() ? "" : ": ", reason, fix));
}

void GraphRunner::Impl::load(std::span<const Input> inputs, Stream& stream) {
  try {
    harness.lane().order(stream);
    harness.load(inputs, options.rows, key, stream);
  } catch (const BoundBufferMoved& moved) {
    state.set(RunState::stale);
    reason = moved.what();
    throw;
  }
}

void GraphRunner::Impl::replay(Stream& stream, std::span<const Input> inputs) {
  require_recorded("replay()");
  const RangeScope range(replay_range);
  load(inputs, stream);
  harness.replay(*recorded, stream);
  harness.finish_run(options.rows);
}

void GraphRunner::Impl::rebind(std::span<const Input> tensors) {
  if (state.get() != RunState::stale) require_recorded("rebind()");
  for (const Input& tensor : tensors) harness.table().check_bind(tensor.slot, tensor.value);
  Stream& stream = harness.lane().stream();
  harness.lane().order(stream);
  const KeptInputs inputs = harness.keep_inputs(stream);
  state.set(RunState::cold);
  for (const Input& tensor : tensors) harness.table().bind(tensor.slot, tensor.value);
  reason.clear();
  make(stream, [&] {
    harness.forget_runs();
    harness.give_back_inputs(inputs, stream);  // what the device holds is what reload() sends now
  });
}

void GraphRunner::Impl::reset() {
  recorded.reset();
  harness.table().unbind_all();
  harness.forget_runs();
  state.set(RunState::cold);
  reason.clear();
}

GraphRunner::GraphRunner(std::shared_ptr<Device> device, Step step, RunnerOptions options)
    : impl_(std::make_unique<Impl>(std::move(device), std::move(step), std::move(options))) {}
GraphRunner::~GraphRunner() = default;
GraphRunner::GraphRunner(GraphRunner&&) noexcept = default;
GraphRunner& GraphRunner::operator=(GraphRunner&&) noexcept = default;

void GraphRunner::capture(std::initializer_list<NamedInput> inputs) {
  capture(ResolvedInputs(impl_->harness.table(), inputs).span());
}

void GraphRunner::capture(std::span<const Input> inputs) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphRunner::capture");
  impl_->capture(inputs);
}

void GraphRunner::rebind(std::initializer_list<NamedInput> tensors) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphRunner::rebind");
  impl_->rebind(ResolvedInputs(impl_->harness.table(), tensors).span());
}

void GraphRunner::replay(std::initializer_list<NamedInput> inputs) {
  replay(ResolvedInputs(impl_->harness.table(), inputs).span());
}

void GraphRunner::replay(std::span<const Input> inputs) {
  replay(impl_->harness.lane().stream(), inputs);
}

void GraphRunner::replay(Stream& stream, std::span<const Input> inputs) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphRunner::replay");
  impl_->replay(stream, inputs);
}

void GraphRunner::run_eager(std::initializer_list<NamedInput> inputs) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphRunner::run_eager");
  impl_->require_recorded("run_eager()");
  Stream& stream = impl_->harness.lane().stream();
  impl_->load(ResolvedInputs(impl_->harness.table(), inputs).span(), stream);
  impl_->harness.call(StepPhase::eager, impl_->key, stream);
  impl_->harness.finish_run(impl_->options.rows);
}

void GraphRunner::reset() {
  const Lane::Entry entry(impl_->harness.lane(), "GraphRunner::reset");
  impl_->reset();
}

RunState GraphRunner::state() const noexcept {
  if (impl_->harness.device().lost()) return RunState::lost;
  const RunState state = impl_->state.get();
  return state == RunState::recorded && impl_->harness.lane().asleep() ? RunState::asleep : state;
}
const std::string& GraphRunner::reason() const noexcept {
  Device& device = impl_->harness.device();
  return device.lost() ? device.state().lost_cause : impl_->reason;
}
std::uint64_t GraphRunner::retried() const noexcept { return impl_->retried; }
Slot GraphRunner::slot(std::string_view name) const { return impl_->harness.table().slot(name); }
OutputView GraphRunner::output(std::string_view name) const {
  return impl_->harness.output(slot(name));
}

void GraphRunner::read(const OutputView& output, std::span<std::byte> out) {
  const Lane::Entry entry(impl_->harness.lane(), "GraphRunner::read");
  impl_->harness.read(output, out);
}

const Graph& GraphRunner::graph() const {
  impl_->require_recorded("graph()");
  if (impl_->recorded->fake()) {
    throw UsageError(
        fmt::format("graph() of runner '{}': it was recorded with RecordMode::fake, which makes "
                    "no graph; record it with RecordMode::graphs",
                    impl_->name()));
  }
  return impl_->recorded->graph->graph;
}

Stream& GraphRunner::stream() noexcept { return impl_->harness.lane().stream(); }
const std::shared_ptr<MemoryPool>& GraphRunner::memory() const noexcept {
  return impl_->harness.memory();
}

}  // namespace reprise
