// SPDX-License-Identifier: Apache-2.0
#include "graph/step_harness.h"

#include <algorithm>

#include <fmt/format.h>

#include <reprise/debug_replay.h>
#include <reprise/error.h>

namespace reprise {

class StepHarness::Context : public StepContext {
 public:
  Context(StepHarness& harness, StepPhase phase, StepKey key, Stream& stream)
      : harness_(harness), phase_(phase), key_(key), stream_(stream) {}

  Stream& stream() noexcept override { return stream_; }
  StepPhase phase() const noexcept override { return phase_; }
  int rows() const noexcept override { return key_.rows; }
  std::string_view variant() const noexcept override {
    return harness_.variants_[static_cast<std::size_t>(key_.variant)];
  }

  TensorView tensor(std::string_view name) const override {
    const BindingTable& table = harness_.table_;
    if (!table.row_count_name().empty() && name == table.row_count_name()) return table.row_count();
    const Slot slot = table.slot(name);
    const BindingTable::Entry& entry = table.entry(slot);
    if (!entry.seen_by(key_.variant)) {
      throw UsageError(fmt::format("binding '{}' is not one of variant '{}' of step '{}'", name,
                                   variant(), harness_.step_.name));
    }
    TensorView tensor = table.tensor(static_cast<std::size_t>(slot.index), key_.rows);
    tensor.shape = entry.shape(key_.rows);  // bound ones are as large as the most rows
    return tensor;
  }

  void* scratch(std::size_t bytes, std::string_view label) override {
    blocks_.push_back(harness_.memory_->allocate(bytes, label));
    harness_.latest_scratch_.push_back({blocks_.back().data(), blocks_.back().bytes()});
    // A fake recording's replays return to it, though the pool sees no recording.
    if (phase_ == StepPhase::recording) blocks_.back().keep_segment();
    return blocks_.back().data();
  }

 protected:
  StepHarness& harness_;

 private:
  StepPhase phase_;
  StepKey key_;
  Stream& stream_;
  std::vector<PoolBlock> blocks_;  // given back when the step function has returned
};

// Scratch memory lies where the recording had it, as it does for the nodes of a graph.
class StepHarness::FakeContext final : public Context {
 public:
  FakeContext(StepHarness& harness, const RecordedStep& recorded, Stream& stream)
      : Context(harness, StepPhase::recording, recorded.key, stream), recorded_(recorded) {}

  void* scratch(std::size_t bytes, std::string_view label) override {
    const std::size_t index = next_++;
    const auto& known = recorded_.scratch;
    if (index < known.size() && bytes <= known[index].bytes) return known[index].data;
    throw Error(fmt::format(
        "step '{}' of {} asks for other scratch memory than when it was recorded: request {} "
        "is {} bytes for '{}', the recording had {}; the same call must always ask for the same",
        harness_.step_.name, describe(recorded_.key, harness_), index + 1, bytes, label,
        index < known.size() ? fmt::format("{} bytes", known[index].bytes) : "no such request"));
  }

 private:
  const RecordedStep& recorded_;
  std::size_t next_ = 0;
};

StepHarness::StepHarness(std::shared_ptr<Device> device, Step step, int max_rows,
                         std::shared_ptr<MemoryPool> memory, std::vector<std::string> variants,
                         ExecutableOptions executables)
    : device_(std::move(device)),
      step_(std::move(step)),
      variants_(std::move(variants)),
      memory_(memory ? std::move(memory)
                     : MemoryPool::create(device_, MemoryPoolOptions{.name = step_.name})),
      table_(*device_, step_, max_rows, variants_),
      slab_(*device_, table_.slab(), table_.device_owned(), table_.size()),
      lane_(*device_, step_.name),
      executables_(executables),
      given_rows_(table_.size(), 0),
      given_now_(table_.size(), 0),
      stamps_(step_) {
  device_inputs_.reserve(table_.size());
}

void StepHarness::require_bound(int variant) const {
  for (std::size_t index = 0; index < table_.size(); ++index) {
    const BindingTable::Entry& entry = table_[index];
    if (entry.is_bound_kind() && entry.seen_by(variant)) (void)table_.tensor(index, 1);
  }
}

void StepHarness::set_row_count(int rows) {
  if (table_.row_count_name().empty()) return;
  const std::int32_t count = rows;
  slab_.write(0, &count, sizeof count, false);
}

void StepHarness::load_padding(Stream& stream) {
  for (std::size_t index = 0; index < table_.size(); ++index) {
    const BindingTable::Entry& entry = table_[index];
    if (entry.binding.kind != BindingKind::copied) continue;
    const auto rows = static_cast<std::size_t>(entry.binding.per_row ? table_.max_rows() : 1);
    slab_.write_rows(entry.offset, entry.pad_row, rows, entry.binding.written_by_step);
  }
  set_row_count(0);
  device_inputs_.clear();
  slab_.upload_all(stream);
  forget_runs();
}

void StepHarness::forget_runs() noexcept {
  std::fill(given_rows_.begin(), given_rows_.end(), 0);
  begin_run();
}

void StepHarness::begin_run() noexcept {
  stamps_.begin_run();
  output_rows_ = 0;
}

void StepHarness::check_copied(const BindingTable::Entry& entry, const TensorView& value,
                               int rows) const {
  const Shape expected = entry.shape(rows);
  if (value.dtype != entry.binding.dtype || value.shape != expected) {
    throw UsageError(fmt::format("input '{}' must be {} {}, got {}", entry.binding.name,
                                 to_string(entry.binding.dtype), to_string(expected),
                                 describe(value)));
  }
  if (!value.contiguous()) {
    throw UsageError(fmt::format("input '{}' is strided {}; make it contiguous before passing it",
                                 entry.binding.name, to_string(value.strides)));
  }
  if (value.data == nullptr && value.bytes() > 0) {
    throw UsageError(fmt::format("input '{}' points to no memory", entry.binding.name));
  }
}

void StepHarness::check_bound(const BindingTable::Entry& entry, const TensorView& value) const {
  const TensorView& bound = entry.bound;
  if (bound.data == nullptr) {
    throw UsageError(
        fmt::format("'{}' was not bound; bind it before recording", entry.binding.name));
  }
  if (value.dtype != bound.dtype || value.shape != bound.shape || !value.contiguous()) {
    throw UsageError(fmt::format("'{}' was bound as {}, got {}{}", entry.binding.name,
                                 describe(bound), describe(value),
                                 value.contiguous() ? "" : ", strided"));
  }
  if (has_moved(entry, value)) throw BoundBufferMoved(describe_move(entry, value));
}

void StepHarness::check_inputs(std::span<const Input> inputs, int rows, int variant) {
  std::fill(given_now_.begin(), given_now_.end(), std::uint8_t{0});
  for (const Input& input : inputs) {
    const BindingTable::Entry& entry = table_.entry(input.slot);
    std::uint8_t& given = given_now_[static_cast<std::size_t>(input.slot.index)];
    if (given != 0) throw UsageError(fmt::format("input '{}' is given twice", entry.binding.name));
    given = 1;
    if (!entry.seen_by(variant)) {
      throw UsageError(fmt::format(
          "input '{}' is not one of variant '{}' of step '{}'; leave it out", entry.binding.name,
          variants_[static_cast<std::size_t>(variant)], step_.name));
    }
    switch (entry.binding.kind) {
      case BindingKind::copied:
        check_copied(entry, input.value, rows);
        break;
      case BindingKind::bound:
      case BindingKind::state:
        check_bound(entry, input.value);
        break;
      case BindingKind::output:
        throw UsageError(fmt::format("'{}' is an output; it takes no value", entry.binding.name));
    }
  }
  check_kept(rows, variant);
}

// What is not given keeps its value: there must be one, for as many rows as now.
void StepHarness::check_kept(int rows, int variant) const {
  for (std::size_t index = 0; index < table_.size(); ++index) {
    const BindingTable::Entry& entry = table_[index];
    const Binding& binding = entry.binding;
    if (binding.kind != BindingKind::copied || given_now_[index] != 0) continue;
    if (!entry.seen_by(variant)) continue;
    if (given_rows_[index] == 0) {
      throw UsageError(fmt::format("input '{}' was never given a value", binding.name));
    }
    if (binding.per_row && rows != given_rows_[index]) {
      throw UsageError(
          fmt::format("input '{}' has values for {} rows, the run has {}; give it again",
                      binding.name, given_rows_[index], rows));
    }
  }
}

void StepHarness::take(const Input& input, int rows, int bucket) {
  const BindingTable::Entry& entry = table_.entry(input.slot);
  if (entry.binding.kind != BindingKind::copied) return;
  given_rows_[static_cast<std::size_t>(input.slot.index)] = rows;
  const bool always = entry.binding.written_by_step;
  const std::size_t bytes = entry.bytes(rows);
  if (input.value.space == MemorySpace::device) {
    device_inputs_.push_back(input);
  } else {
    slab_.write(entry.offset, input.value.data, bytes, always);
  }
  if (entry.binding.per_row) {
    slab_.write_rows(entry.offset + bytes, entry.pad_row, static_cast<std::size_t>(bucket - rows),
                     always);
  }
}

void StepHarness::load(std::span<const Input> inputs, int rows, StepKey key, Stream& stream) {
  check_inputs(inputs, rows, key.variant);
  begin_run();
  device_inputs_.clear();
  try {
    for (const Input& input : inputs) take(input, rows, key.rows);
    set_row_count(rows);
    slab_.flush(stream);
    copy_device_inputs(stream);
  } catch (...) {
    // What reached the device is not known; a later run must not build on it.
    for (const Input& input : inputs) given_rows_[static_cast<std::size_t>(input.slot.index)] = 0;
    throw;
  }
}

// After the slab's copies: those may span bytes that are given here.
void StepHarness::copy_device_inputs(Stream& stream) {
  for (const Input& input : device_inputs_) {
    const BindingTable::Entry& entry = table_.entry(input.slot);
    const std::size_t bytes = input.value.bytes();
    stream.copy(table_.slab().view(entry.offset, bytes),
                {input.value.data, bytes, MemorySpace::device});
    slab_.forget(entry.offset, bytes);
  }
}

KeptInputs StepHarness::keep_inputs(Stream& stream) const {
  return {.slab = slab_.download(stream), .given_rows = given_rows_};
}

void StepHarness::give_back_inputs(const KeptInputs& kept, Stream& stream) {
  device_inputs_.clear();
  slab_.put_back(kept.slab, stream);
  given_rows_ = kept.given_rows;
}

void StepHarness::give_back_inputs_quietly(const KeptInputs& kept, Stream& stream) noexcept {
  try {
    give_back_inputs(kept, stream);
  } catch (const std::exception&) {
    forget_runs();
  }
}

void StepHarness::reload(Stream& stream) {
  slab_.upload_all(stream);
  copy_device_inputs(stream);
}

RangeName StepHarness::range_name(std::string_view what, StepKey key) const {
  return {device_->state(), [&] {
            const std::string& variant = variants_[static_cast<std::size_t>(key.variant)];
            return fmt::format("{} {}[{}{}{}]", what, step_.name, key.rows,
                               variant.empty() ? "" : " ", variant);
          }};
}

void StepHarness::call(StepPhase phase, StepKey key, Stream& stream) {
  latest_scratch_.clear();
  stamps_.note_eager(key.rows);
  Context context(*this, phase, key, stream);
  step_.run(context);
}

Graph StepHarness::capture_once(StepKey key, Stream& stream) {
  return capture(stream, [&] { call(StepPhase::recording, key, stream); });
}

// Once, and for this fault only: it is nobody's here, so that a second attempt may well succeed,
// and a step function may be called any number of times (DESIGN §4.5).
Graph StepHarness::capture_step(StepKey key, Stream& stream,
                                const std::function<void(std::string_view)>& on_retry) {
  try {
    return capture_once(key, stream);
  } catch (const CaptureError& lost) {
    if (lost.fault() != CaptureFault::invalidated) throw;
    on_retry(fmt::format("the recording of {} of '{}' was lost and is made once more: {}",
                         describe(key, *this), step_.name, lost.what()));
  }
  return capture_once(key, stream);
}

std::shared_ptr<ExecutableSlot> take_executable(std::optional<RecordedStep>& recorded) {
  if (!recorded || recorded->fake()) return nullptr;
  auto slot = std::move(recorded->graph->slot);
  recorded.reset();
  return slot;
}

RecordedStep StepHarness::record(StepKey key, RecordMode mode,
                                 std::shared_ptr<ExecutableSlot> former,
                                 const std::function<void(std::string_view)>& on_retry) {
  Stream& stream = lane_.stream();
  lane_.order(stream);
  if (mode == RecordMode::fake) {
    call(StepPhase::recording, key, stream);
    return {.key = key, .graph = {}, .scratch = latest_scratch_};
  }
  Graph graph = capture_step(key, stream, on_retry);
  return {.key = key,
          .graph = executables_.adopt(std::move(graph), std::move(former), stream),
          .scratch = latest_scratch_,
          .debug = mode == RecordMode::debug};
}

void StepHarness::replay(RecordedStep& recorded, Stream& stream) {
  stamps_.note_replay(recorded.key.rows);
  if (recorded.debug) return debug_replay(recorded.graph->graph, stream);
  if (!recorded.fake()) return recorded.graph->slot->exec->launch(stream);
  FakeContext context(*this, recorded, stream);
  step_.run(context);
}

bool has_moved(const BindingTable::Entry& entry, const TensorView& value) noexcept {
  return value.data != entry.bound.data || value.generation != entry.bound.generation;
}

std::string describe_move(const BindingTable::Entry& entry, const TensorView& value) {
  return fmt::format(
      "bound buffer '{}' moved: recorded at {} (generation {}), given at {} (generation {}); keep "
      "it in place, or call rebind() with all that has moved",
      entry.binding.name, entry.bound.data, entry.bound.generation, value.data, value.generation);
}

std::string describe(StepKey key, const StepHarness& harness) {
  const std::string& variant = harness.variants()[static_cast<std::size_t>(key.variant)];
  return fmt::format("{} row{}{}", key.rows, key.rows == 1 ? "" : "s",
                     variant.empty() ? "" : fmt::format(" of variant '{}'", variant));
}

OutputView StepHarness::output(Slot slot) const {
  const BindingTable::Entry& entry = table_.entry(slot);
  if (entry.binding.kind != BindingKind::output) {
    throw UsageError(
        fmt::format("'{}' is not an output of step '{}'", entry.binding.name, step_.name));
  }
  if (output_rows_ == 0) {
    throw UsageError(
        fmt::format("output '{}' has no value: step '{}' has not run, or its last run "
                    "failed",
                    entry.binding.name, step_.name));
  }
  return stamps_.view(slot, table_.tensor(static_cast<std::size_t>(slot.index), output_rows_));
}

void StepHarness::read(const OutputView& output, std::span<std::byte> out) {
  const std::string& name = table_.entry(output.slot).binding.name;
  const MemoryView memory = output.memory();
  if (out.size() != output.tensor.bytes()) {
    throw UsageError(fmt::format("output '{}' is {}, {} bytes; the destination has {}", name,
                                 describe(output.tensor), output.tensor.bytes(), out.size()));
  }
  Stream& stream = lane_.stream();
  lane_.order(stream);
  stream.copy(pageable(out), memory);
}

}  // namespace reprise
