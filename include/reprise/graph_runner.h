// SPDX-License-Identifier: Apache-2.0
// Records one step of one size and replays it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <reprise/graph.h>
#include <reprise/memory_pool.h>
#include <reprise/run_state.h>
#include <reprise/sleepable_memory.h>
#include <reprise/step.h>

namespace reprise {

struct RunnerOptions {
  int rows = 1;  ///< of every per-row binding
  /// What StepContext::variant() says; bindings that only other variants see do not exist.
  std::string variant = {};
  int warm_ups = 1;  ///< eager runs before recording; at least 1
  RecordMode record_mode = RecordMode::graphs;
  /// Compare eager and replay bitwise after recording; a difference is an Error and disables. As
  /// GraphPoolOptions::self_test with fake recording.
  bool self_test = true;
  /// Where scratch memory comes from; null: a pool of the runner's own. As
  /// GraphPoolOptions::memory.
  std::shared_ptr<MemoryPool> memory = nullptr;
  /// What bound and state tensors lie in; the runner is asleep while this is, or while `memory` is.
  std::shared_ptr<const SleepableMemory> sleeps_with = nullptr;
  /// Takes one line where a recording is made once more; null: standard error.
  std::function<void(std::string_view)> on_note = nullptr;
};

/// One lane (DESIGN §5): calls from two threads at once are refused with a UsageError; replays on
/// different streams are ordered among themselves.
class GraphRunner {
 public:
  /// Throws UsageError for a step whose bindings contradict themselves.
  GraphRunner(std::shared_ptr<Device> device, Step step, RunnerOptions options = {});
  ~GraphRunner();
  GraphRunner(GraphRunner&&) noexcept;
  GraphRunner& operator=(GraphRunner&&) noexcept;

  /// Warms up, records, instantiates and uploads. All copied, bound and state bindings must be
  /// given; state is as before afterwards, also after an error. A second capture without reset() is
  /// a UsageError. A recording that something outside the library ended (CaptureFault::invalidated)
  /// is made once more, counted and noted: the step function is then called again. A failed
  /// self-test makes the runner disabled until reset(); after any other
  /// error it is cold again and its streams are usable.
  void capture(std::initializer_list<NamedInput> inputs);
  void capture(std::span<const Input> inputs);

  /// After a bound or state buffer moved, or before it does: binds the tensors given (all that have
  /// moved, in one call) and records again with them; inputs keep their values, outputs of earlier
  /// replays count as overwritten. UsageError where the runner is neither recorded nor stale; after
  /// an error of the recording it is cold, as after capture().
  void rebind(std::initializer_list<NamedInput> tensors);

  /// Copies what changed and enqueues one replay on the runner's stream. Inputs not given keep
  /// their values. A changed shape, dtype or stride is a UsageError that changes nothing; a moved
  /// bound or state buffer also makes the runner stale.
  void replay(std::initializer_list<NamedInput> inputs = {});
  void replay(std::span<const Input> inputs);
  /// The same on a stream of the caller's, after the previous replay.
  void replay(Stream& stream, std::span<const Input> inputs);
  /// Runs the step function itself with the same buffers; for comparison and debugging.
  void run_eager(std::initializer_list<NamedInput> inputs = {});

  /// Drops graph and executable and what was bound: the runner is cold.
  void reset();

  RunState state() const noexcept;
  /// Why the runner is stale, disabled or lost; "" otherwise.
  const std::string& reason() const noexcept;
  /// Recordings that were made once more, in the runner's life.
  std::uint64_t retried() const noexcept;
  /// Throws UsageError for an unknown name.
  Slot slot(std::string_view name) const;
  OutputView output(std::string_view name) const;
  /// Waits for the run and copies the output; throws UsageError if a later run has overwritten it
  /// or `out` has another size.
  void read(const OutputView& output, std::span<std::byte> out);
  template <class T>
  void read(const OutputView& output, std::span<T> out) {
    read(output, std::as_writable_bytes(out));
  }
  /// Throws UsageError unless recorded, and with RecordMode::fake.
  const Graph& graph() const;
  Stream& stream() noexcept;
  const std::shared_ptr<MemoryPool>& memory() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise
