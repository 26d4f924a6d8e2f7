// SPDX-License-Identifier: Apache-2.0
#include "graph/step_harness.h"

#include <algorithm>

#include <fmt/format.h>

#include <reprise/debug_replay.h>
#include <reprise/error.h>

namespace reprise {

class StepHarness::Context : public StepContext {
 public:
  Context(StepHarness& harness, StepPhase phase, int rows, Stream& stream)
      : harness_(harness), phase_(phase), rows_(rows), stream_(stream) {}

  Stream& stream() noexcept override { return stream_; }
  StepPhase phase() const noexcept override { return phase_; }
  int rows() const noexcept override { return rows_; }

  TensorView tensor(std::string_view name) const override {
    const BindingTable& table = harness_.table_;
    if (!table.row_count_name().empty() && name == table.row_count_name()) return table.row_count();
    const Slot slot = table.slot(name);
    TensorView tensor = table.tensor(static_cast<std::size_t>(slot.index), rows_);
    tensor.shape = table.entry(slot).shape(rows_);  // bound ones are as large as the most rows
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
  int rows_;
  Stream& stream_;
  std::vector<PoolBlock> blocks_;  // given back when the step function has returned
};

// Scratch memory lies where the recording had it, as it does for the nodes of a graph.
class StepHarness::FakeContext final : public Context {
 public:
  FakeContext(StepHarness& harness, const RecordedStep& recorded, Stream& stream)
      : Context(harness, StepPhase::recording, recorded.rows, stream), recorded_(recorded) {}

  void* scratch(std::size_t bytes, std::string_view label) override {
    const std::size_t index = next_++;
    const auto& known = recorded_.scratch;
    if (index < known.size() && bytes <= known[index].bytes) return known[index].data;
    throw Error(fmt::format(
        "step '{}' of {} rows asks for other scratch memory than when it was recorded: request {} "
        "is {} bytes for '{}', the recording had {}; the same call must always ask for the same",
        harness_.step_.name, recorded_.rows, index + 1, bytes, label,
        index < known.size() ? fmt::format("{} bytes", known[index].bytes) : "no such request"));
  }

 private:
  const RecordedStep& recorded_;
  std::size_t next_ = 0;
};

StepHarness::StepHarness(std::shared_ptr<Device> device, Step step, int max_rows,
                         std::shared_ptr<MemoryPool> memory)
    : device_(std::move(device)),
      step_(std::move(step)),
      memory_(memory ? std::move(memory)
                     : MemoryPool::create(device_, MemoryPoolOptions{.name = step_.name})),
      table_(*device_, step_, max_rows),
      slab_(*device_, table_.slab(), table_.device_owned(), table_.size()),
      lane_(*device_, step_.name),
      given_(table_.size(), 0),
      given_now_(table_.size(), 0) {
  device_inputs_.reserve(table_.size());
}

void StepHarness::require_bound() const {
  for (std::size_t index = 0; index < table_.size(); ++index) {
    const BindingKind kind = table_[index].binding.kind;
    if (kind == BindingKind::bound || kind == BindingKind::state) (void)table_.tensor(index, 1);
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
  std::fill(given_.begin(), given_.end(), std::uint8_t{0});
  input_rows_ = 0;
  begin_run();
}

void StepHarness::begin_run() noexcept {
  ++run_number_;  // views of earlier runs are stale
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
  if (value.data != bound.data || value.generation != bound.generation) {
    throw BoundBufferMoved(fmt::format(
        "bound buffer '{}' moved: recorded at {} (generation {}), given at {} (generation {}); "
        "keep it "
        "in place, or reset() and record again",
        entry.binding.name, bound.data, bound.generation, value.data, value.generation));
  }
}

void StepHarness::check_inputs(std::span<const Input> inputs, int rows) {
  std::fill(given_now_.begin(), given_now_.end(), std::uint8_t{0});
  for (const Input& input : inputs) {
    const BindingTable::Entry& entry = table_.entry(input.slot);
    std::uint8_t& given = given_now_[static_cast<std::size_t>(input.slot.index)];
    if (given != 0) throw UsageError(fmt::format("input '{}' is given twice", entry.binding.name));
    given = 1;
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
  for (std::size_t index = 0; index < table_.size(); ++index) {
    const Binding& binding = table_[index].binding;
    if (binding.kind != BindingKind::copied || given_now_[index] != 0) continue;
    if (given_[index] == 0) {
      throw UsageError(fmt::format("input '{}' was never given a value", binding.name));
    }
    if (binding.per_row && rows != input_rows_) {
      throw UsageError(
          fmt::format("input '{}' has values for {} rows, the run has {}; give it again",
                      binding.name, input_rows_, rows));
    }
  }
}

void StepHarness::take(const Input& input, int rows, int bucket) {
  const BindingTable::Entry& entry = table_.entry(input.slot);
  if (entry.binding.kind != BindingKind::copied) return;
  given_[static_cast<std::size_t>(input.slot.index)] = 1;
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

void StepHarness::load(std::span<const Input> inputs, int rows, int bucket, Stream& stream) {
  check_inputs(inputs, rows);
  begin_run();
  device_inputs_.clear();
  try {
    for (const Input& input : inputs) take(input, rows, bucket);
    set_row_count(rows);
    slab_.flush(stream);
    copy_device_inputs(stream);
  } catch (...) {
    // What reached the device is not known; a later run must not build on it.
    for (const Input& input : inputs) given_[static_cast<std::size_t>(input.slot.index)] = 0;
    throw;
  }
  input_rows_ = rows;
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

void StepHarness::reload(Stream& stream) {
  slab_.upload_all(stream);
  copy_device_inputs(stream);
}

RangeName StepHarness::range_name(std::string_view what, int rows) const {
  return {device_->state(), [&] { return fmt::format("{} {}[{}]", what, step_.name, rows); }};
}

void StepHarness::call(StepPhase phase, int rows, Stream& stream) {
  latest_scratch_.clear();
  Context context(*this, phase, rows, stream);
  step_.run(context);
}

Graph StepHarness::capture_once(int rows, Stream& stream) {
  return capture(stream, [&] { call(StepPhase::recording, rows, stream); });
}

// Once, and for this fault only: it is nobody's here, so that a second attempt may well succeed,
// and a step function may be called any number of times (DESIGN §4.5).
Graph StepHarness::capture_step(int rows, Stream& stream,
                                const std::function<void(std::string_view)>& on_retry) {
  try {
    return capture_once(rows, stream);
  } catch (const CaptureError& lost) {
    if (lost.fault() != CaptureFault::invalidated) throw;
    on_retry(fmt::format("the recording of {} row{} of '{}' was lost and is made once more: {}",
                         rows, rows == 1 ? "" : "s", step_.name, lost.what()));
  }
  return capture_once(rows, stream);
}

RecordedStep StepHarness::record(int rows, RecordMode mode,
                                 const std::function<void(std::string_view)>& on_retry) {
  Stream& stream = lane_.stream();
  lane_.order(stream);
  if (mode == RecordMode::fake) {
    call(StepPhase::recording, rows, stream);
    return {.rows = rows, .graph = {}, .exec = {}, .scratch = latest_scratch_};
  }
  Graph graph = capture_step(rows, stream, on_retry);
  GraphExec exec = graph.instantiate();
  exec.upload(stream);
  return {.rows = rows,
          .graph = std::move(graph),
          .exec = std::move(exec),
          .scratch = latest_scratch_,
          .debug = mode == RecordMode::debug};
}

void StepHarness::replay(RecordedStep& recorded, Stream& stream) {
  if (recorded.debug) return debug_replay(*recorded.graph, stream);
  if (!recorded.fake()) return recorded.exec->launch(stream);
  FakeContext context(*this, recorded, stream);
  step_.run(context);
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
  return {.tensor = table_.tensor(static_cast<std::size_t>(slot.index), output_rows_),
          .generation = run_number_,
          .slot = slot};
}

void StepHarness::read(const OutputView& output, std::span<std::byte> out) {
  const std::string& name = table_.entry(output.slot).binding.name;
  if (output.generation != run_number_) {
    throw UsageError(
        fmt::format("output '{}' of run {} was overwritten by run {}; read it before the next run",
                    name, output.generation, run_number_));
  }
  if (out.size() != output.tensor.bytes()) {
    throw UsageError(fmt::format("output '{}' is {}, {} bytes; the destination has {}", name,
                                 describe(output.tensor), output.tensor.bytes(), out.size()));
  }
  Stream& stream = lane_.stream();
  lane_.order(stream);
  stream.copy(pageable(out), {output.tensor.data, output.tensor.bytes(), MemorySpace::device});
}

}  // namespace reprise
