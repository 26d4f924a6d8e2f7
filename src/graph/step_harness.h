// SPDX-License-Identifier: Apache-2.0
// What runner and pool have in common: a step with its device buffers, inputs, scratch memory and
// lane. It runs the step function (eagerly, to warm up, or into a recording) and keeps the rules of
// inputs and outputs; which size runs when is the callers' business. One lane; callers hold
// Lane::Entry.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/graph.h>
#include <reprise/memory_pool.h>
#include <reprise/run_state.h>
#include <reprise/step.h>

#include "device/profiler_range.h"
#include "graph/binding_table.h"
#include "graph/input_slab.h"
#include "graph/lane.h"

namespace reprise {

/// Scratch memory of one call of the step function, for poisoning.
struct ScratchRange {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// What a recording of one size left.
struct RecordedStep {
  int rows = 0;
  std::optional<Graph> graph;         ///< none where the recording was fake
  std::optional<GraphExec> exec;      ///< as `graph`
  std::vector<ScratchRange> scratch;  ///< what its replays use
  bool debug = false;                 ///< RecordMode::debug
  bool fake() const noexcept { return !exec.has_value(); }
};

class StepHarness {
 public:
  StepHarness(std::shared_ptr<Device> device, Step step, int max_rows,
              std::shared_ptr<MemoryPool> memory);

  Device& device() noexcept { return *device_; }
  const Step& step() const noexcept { return step_; }
  BindingTable& table() noexcept { return table_; }
  const BindingTable& table() const noexcept { return table_; }
  Lane& lane() noexcept { return lane_; }
  const std::shared_ptr<MemoryPool>& memory() const noexcept { return memory_; }

  /// Throws UsageError unless every bound and state binding has its tensor.
  void require_bound() const;

  /// Fills all copied inputs with padding rows and a row count of 0, and uploads.
  void load_padding(Stream& stream);
  /// Sets the number of true rows that the next reload() carries.
  void set_row_count(int rows);
  /// Checks `inputs` for a run of `rows` rows, then (and only then) takes them over, pads to
  /// `bucket` and enqueues the copies. Throws UsageError; BoundBufferMoved names a moved buffer.
  /// From then on outputs of earlier runs count as overwritten. If the copies fail, the inputs
  /// given here count as never given.
  void load(std::span<const Input> inputs, int rows, int bucket, Stream& stream);
  /// Makes the device's inputs again what the host gave last, whatever the step wrote into them.
  void reload(Stream& stream);

  /// "replay decode[8]", for a profiler.
  RangeName range_name(std::string_view what, int rows) const;

  /// Calls the step function.
  void call(StepPhase phase, int rows, Stream& stream);
  /// Records, instantiates and uploads on the lane's stream. A recording that something outside the
  /// library ended is made once more: the step function is then called again, after `on_retry` has
  /// been told in one line. What the second attempt throws goes on. A fake recording runs the step
  /// instead, to learn its scratch memory: the caller restores state and inputs.
  RecordedStep record(int rows, RecordMode mode,
                      const std::function<void(std::string_view)>& on_retry);
  /// Launches it, or calls the step with the scratch memory of the recording.
  void replay(RecordedStep& recorded, Stream& stream);

  /// The run that load() began is enqueued: its outputs may be read from now on.
  void finish_run(int rows) noexcept { output_rows_ = rows; }
  OutputView output(Slot slot) const;
  void read(const OutputView& output, std::span<std::byte> out);
  /// No input counts as given any more, no output as written.
  void forget_runs() noexcept;

 private:
  class Context;
  class FakeContext;

  void check_inputs(std::span<const Input> inputs, int rows);
  void check_copied(const BindingTable::Entry& entry, const TensorView& value, int rows) const;
  void check_bound(const BindingTable::Entry& entry, const TensorView& value) const;
  void take(const Input& input, int rows, int bucket);
  void begin_run() noexcept;
  void copy_device_inputs(Stream& stream);
  Graph capture_once(int rows, Stream& stream);
  Graph capture_step(int rows, Stream& stream,
                     const std::function<void(std::string_view)>& on_retry);

  std::shared_ptr<Device> device_;
  Step step_;
  std::shared_ptr<MemoryPool> memory_;
  BindingTable table_;
  InputSlab slab_;
  Lane lane_;
  std::vector<std::uint8_t> given_;      // per binding: it has had a value
  std::vector<std::uint8_t> given_now_;  // per binding: it is among this call's inputs
  std::vector<Input> device_inputs_;     // of this call: copied device to device after the slab
  std::vector<ScratchRange> latest_scratch_;  // of the latest call()
  int input_rows_ = 0;                        // that the per-row inputs have values for
  int output_rows_ = 0;  // of the latest run; 0: it did not come to its end, or there was none
  std::uint64_t run_number_ = 0;
};

/// A bound or state buffer is not where it was when it was recorded.
class BoundBufferMoved : public UsageError {
 public:
  using UsageError::UsageError;
};

}  // namespace reprise
