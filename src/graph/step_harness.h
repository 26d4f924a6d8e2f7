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
#include "graph/executables.h"
#include "graph/input_slab.h"
#include "graph/lane.h"
#include "graph/output_stamps.h"

namespace reprise {

/// Scratch memory of one call of the step function, for poisoning.
struct ScratchRange {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Which graph: how many rows it computes, and of which variant of the step.
struct StepKey {
  int rows = 0;
  int variant = 0;
};

/// What a recording of one key left.
struct RecordedStep {
  StepKey key;
  std::optional<Launchable> graph;    ///< none where the recording was fake
  std::vector<ScratchRange> scratch;  ///< what its replays use
  bool debug = false;                 ///< RecordMode::debug
  bool fake() const noexcept { return !graph.has_value(); }
};

/// The executable of a recording that another one is to replace; null where there is none.
std::shared_ptr<ExecutableSlot> take_executable(std::optional<RecordedStep>& recorded);

/// What lay in the step's inputs, kept while something else uses them.
struct KeptInputs {
  std::vector<std::byte> slab;
  std::vector<int> given_rows;
};

class StepHarness {
 public:
  /// `variants`: the names of the step's variants; at least one, "" for a step without.
  StepHarness(std::shared_ptr<Device> device, Step step, int max_rows,
              std::shared_ptr<MemoryPool> memory, std::vector<std::string> variants,
              ExecutableOptions executables = {});

  Device& device() noexcept { return *device_; }
  const Step& step() const noexcept { return step_; }
  BindingTable& table() noexcept { return table_; }
  const BindingTable& table() const noexcept { return table_; }
  Lane& lane() noexcept { return lane_; }
  const std::shared_ptr<MemoryPool>& memory() const noexcept { return memory_; }
  Executables& executables() noexcept { return executables_; }
  const Executables& executables() const noexcept { return executables_; }

  const std::vector<std::string>& variants() const noexcept { return variants_; }
  /// Throws UsageError unless every bound and state binding that the variant sees has its tensor.
  void require_bound(int variant) const;

  /// Fills all copied inputs with padding rows and a row count of 0, and uploads.
  void load_padding(Stream& stream);
  /// Sets the number of true rows that the next reload() carries.
  void set_row_count(int rows);
  /// Checks `inputs` for a run of `rows` rows of a variant and changes nothing. Throws UsageError;
  /// BoundBufferMoved names a moved buffer.
  void check_inputs(std::span<const Input> inputs, int rows, int variant);
  /// The same, then takes them over, pads to the key's rows and enqueues the copies. From then on
  /// outputs of earlier runs count as overwritten. If the copies fail, the inputs given here count
  /// as never given.
  void load(std::span<const Input> inputs, int rows, StepKey key, Stream& stream);
  /// Waits for the lane's work and keeps what the step's inputs hold, so that padding may be loaded
  /// in between; give_back_inputs() enqueues the way back. Outputs do not come back.
  KeptInputs keep_inputs(Stream& stream) const;
  void give_back_inputs(const KeptInputs& kept, Stream& stream);
  /// The same where another exception is on its way: if it fails, no input counts as given.
  void give_back_inputs_quietly(const KeptInputs& kept, Stream& stream) noexcept;
  /// Makes the device's inputs again what the host gave last, whatever the step wrote into them.
  void reload(Stream& stream);

  /// "replay decode[8]", "replay decode[8 masked]", for a profiler.
  RangeName range_name(std::string_view what, StepKey key) const;

  /// Calls the step function.
  void call(StepPhase phase, StepKey key, Stream& stream);
  /// Records on the lane's stream and finds an executable (Executables::adopt). A recording that
  /// something outside the library ended is made once more: the step function is then called again,
  /// after `on_retry` has been told in one line. What the second attempt throws goes on. A fake
  /// recording runs the step instead, to learn its scratch memory: the caller restores state and
  /// inputs.
  RecordedStep record(StepKey key, RecordMode mode, std::shared_ptr<ExecutableSlot> former,
                      const std::function<void(std::string_view)>& on_retry);
  /// Launches what its executable holds: make sure that it is this recording's. A fake one calls
  /// the step with the scratch memory of the recording.
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

  void check_kept(int rows, int variant) const;
  void check_copied(const BindingTable::Entry& entry, const TensorView& value, int rows) const;
  void check_bound(const BindingTable::Entry& entry, const TensorView& value) const;
  void take(const Input& input, int rows, int bucket);
  void begin_run() noexcept;
  void copy_device_inputs(Stream& stream);
  Graph capture_once(StepKey key, Stream& stream);
  Graph capture_step(StepKey key, Stream& stream,
                     const std::function<void(std::string_view)>& on_retry);

  std::shared_ptr<Device> device_;
  Step step_;
  std::vector<std::string> variants_;
  std::shared_ptr<MemoryPool> memory_;
  BindingTable table_;
  InputSlab slab_;
  Lane lane_;
  Executables executables_;
  std::vector<int> given_rows_;          // per binding: of the run that gave its value; 0: none has
  std::vector<std::uint8_t> given_now_;  // per binding: it is among this call's inputs
  std::vector<Input> device_inputs_;     // of this call: copied device to device after the slab
  std::vector<ScratchRange> latest_scratch_;  // of the latest call()
  int output_rows_ = 0;  // of the latest run; 0: it did not come to its end, or there was none
  OutputStamps stamps_;
};

/// A bound or state buffer is not where it was when it was recorded.
class BoundBufferMoved : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Whether a bound or state tensor lies elsewhere than the one that is bound.
bool has_moved(const BindingTable::Entry& entry, const TensorView& value) noexcept;
/// Says so, and what to do.
std::string describe_move(const BindingTable::Entry& entry, const TensorView& value);

/// "8 rows", "1 row", "8 rows of variant 'masked'": how messages name a key.
std::string describe(StepKey key, const StepHarness& harness);

}  // namespace reprise
