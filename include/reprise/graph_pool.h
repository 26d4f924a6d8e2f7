// SPDX-License-Identifier: Apache-2.0
// One graph per batch size over one private memory pool: the ladder, padding, fallback, counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/graph.h>
#include <reprise/ladder.h>
#include <reprise/memory_pool.h>
#include <reprise/pool_report.h>
#include <reprise/run_state.h>
#include <reprise/sleepable_memory.h>
#include <reprise/step.h>

namespace reprise {

/// When the graphs of a variant are recorded.
enum class RecordWhen : std::uint8_t {
  at_record,   ///< by record(), every size
  first_use,   ///< lazily: a size when the first run needs it, which then takes that much longer
  on_request,  ///< by record_variant() only; what was not asked for runs eagerly, counted
};

/// One way in which the step may run besides its rows: a class of sampling, a masked output, a
/// class of context, an adapter. The step asks StepContext::variant(); Binding::variants says who
/// sees what.
struct VariantOptions {
  std::string name;
  RecordWhen when = RecordWhen::at_record;
};

struct GraphPoolOptions {
  /// Sizes to record, in any order; empty: default_ladder(max_rows).
  std::vector<int> sizes = {};
  /// Rows of the largest batch that may ever be run; sizes the static buffers and the memory for
  /// eager runs. 0: the largest of `sizes`. What lies between that and max_rows runs eagerly.
  int max_rows = 0;
  /// The step's variants; every one has the whole ladder. Empty: one without a name.
  std::vector<VariantOptions> variants = {};
  /// Scratch memory that record() makes sure a later, lazy recording finds in one piece without
  /// taking more from the device. What a lazy recording needs beyond it, and beyond what the other
  /// graphs use (they share it), its warm-up takes from where the memory pool takes it.
  std::size_t lazy_scratch_bytes = 0;
  /// Off: a batch that is no recorded size exactly runs eagerly, unpadded.
  bool allow_padding = true;
  int warm_ups = 1;  ///< eager runs per size before recording; at least 1
  RecordMode record_mode = RecordMode::graphs;
  /// Compare eager and replay bitwise per size after recording; a size that differs is disabled.
  /// With fake recording a difference is the step's own: two calls of it from equal inputs, state
  /// and scratch that nobody wrote disagree, or it does something else in phase `recording`.
  bool self_test = true;
  /// Recording leaves the self-tests to self_test_next(): serving starts sooner, and until its test
  /// a size is replayed untested.
  bool postpone_self_test = false;
  /// One executable for all graphs of equal structure, re-pointed whenever the size changes: less
  /// memory, and an update before such a replay. A note says once when it happens too often.
  bool share_executables = false;
  /// The most executables alive at a time; 0: one for each graph. Beyond it the one not used for
  /// longest is dropped, once its replays have run, and made again when a run needs it. A note says
  /// once when it happens too often. Where it cannot be made again the size is disabled.
  std::size_t max_executables = 0;
  /// Where scratch memory comes from; null: a pool of its own. Replays write in what they were
  /// recorded with, long after the step gave it back: blocks that others take from this pool after
  /// record() hold their contents only until the next run.
  std::shared_ptr<MemoryPool> memory = nullptr;
  /// What bound and state tensors lie in; the pool is asleep while this is, or while `memory` is:
  /// bind() and reset() work then, all that runs, records or reads is refused.
  std::shared_ptr<const SleepableMemory> sleeps_with = nullptr;
  /// Takes one line per first occurrence of a fallback reason, per disabled size and per recording
  /// that is made once more; null: standard error.
  std::function<void(std::string_view)> on_note = nullptr;
  /// Called by record() after each size in each of its phases; null: nobody is told. An exception
  /// ends record() as one of its own does.
  std::function<void(const PoolProgress&)> on_progress = nullptr;
};

enum class RunMode : std::uint8_t {
  automatic,  ///< replay where possible, else eager, counted
  eager,      ///< the step itself at bucket(rows): bitwise what replay gives (DESIGN §3, E1)
};

/// One lane, as GraphRunner: the calls that bind, record, run, reset and read refuse a second
/// thread, the other calls read what those change and belong to the same thread. For a step with n
/// rows, bucket(n) is the smallest recorded size that holds them; a batch above the ladder runs
/// eagerly at its own size, one above max_rows is a UsageError.
class GraphPool {
 public:
  GraphPool(std::shared_ptr<Device> device, Step step, GraphPoolOptions options = {});
  ~GraphPool();
  GraphPool(GraphPool&&) noexcept;
  GraphPool& operator=(GraphPool&&) noexcept;

  /// Gives a bound or state tensor, [max_rows] + row where it is per row. Before record(), or
  /// before the first lazy recording if no other variant sees it; a second bind of the same name
  /// needs reset().
  void bind(std::string_view name, const TensorView& tensor);

  /// Two passes: warms up every size (and max_rows), then records every size, largest first, on one
  /// stream. The step sees only padding rows: pad values, and row count 0, but in the self-test,
  /// where all rows of the size count as true ones. So what a step does for pad values must do no
  /// harm to bound memory; state is as before afterwards. Sizes that fail are disabled and
  /// reported, whether in warm-up or later; if all fail, the first error is thrown, and a device
  /// without memory for a warm-up, or for max_rows, is always an error. A recording that something
  /// outside the library ended (CaptureFault::invalidated) is made once more, counted and noted:
  /// the step function is then called twice for that size. After an exception nothing is recorded,
  /// what was bound stays bound, and record() may be called again. A second record() needs reset().
  RecordReport record();

  /// Repairs what a moved buffer made stale: takes the new tensors of bound or state bindings and
  /// records again, as record_variant() does it, the graphs that were recorded with the old ones
  /// and no others. To be given all that has moved in one call: the step runs with what is bound.
  /// Graphs that another moved buffer keeps stale stay so; one that fails is disabled. Also for a
  /// buffer that is about to be given up, and before record(), where it only binds. After an
  /// exception other than UsageError the tensors are bound and what is stale stays so until the
  /// next rebind().
  RecordReport rebind(std::string_view name, const TensorView& tensor);
  RecordReport rebind(std::initializer_list<NamedInput> tensors);

  /// Runs `rows` rows on the pool's stream (or on `stream`), asynchronously. A copied input not
  /// given keeps its value; per-row ones must be given when the number of rows changed. Throws
  /// UsageError for rows < 1 or > max_rows, a wrong shape, dtype or stride, or a moved bound buffer
  /// (then the graphs of all variants that see it are stale until rebind() or reset(), and these
  /// variants are refused), and CaptureError while the stream or the
  /// calling thread records; all of these change nothing. After any other exception, such as one of
  /// the step itself, the inputs given must be given again and there is no output to read.
  RunResult run(int rows, std::initializer_list<NamedInput> inputs,
                RunMode mode = RunMode::automatic);
  RunResult run(int rows, std::span<const Input> inputs, RunMode mode = RunMode::automatic);
  RunResult run(Stream& stream, int rows, std::span<const Input> inputs,
                RunMode mode = RunMode::automatic);
  /// The same with a variant of the step; above, it is the first one. Throws UsageError for one
  /// that there is not. A variant of RecordWhen::first_use is recorded here, before its first run
  /// of a size, as record_variant() does it.
  RunResult run(int rows, std::initializer_list<NamedInput> inputs, std::string_view variant,
                RunMode mode = RunMode::automatic);
  RunResult run(int rows, std::span<const Input> inputs, Variant variant,
                RunMode mode = RunMode::automatic);
  RunResult run(Stream& stream, int rows, std::span<const Input> inputs, Variant variant,
                RunMode mode = RunMode::automatic);

  /// Records the graph that `rows` rows of a variant run on, after record(), unless it is recorded;
  /// also one that was disabled, once more. Waits for the lane's runs. Warm-up, recording and
  /// self-test see only padding rows, as in record(); afterwards state and inputs are as before,
  /// but outputs of earlier runs count as overwritten. If it fails, this graph is disabled, noted
  /// and in the report, and all others are as they were; only a lost device throws. Throws
  /// UsageError before record(), while asleep, for rows above the ladder, a stale pool, or a tensor
  /// that is not bound.
  RecordReport record_variant(int rows, std::string_view variant);

  /// With postpone_self_test, between two runs: tests the largest graph that waits for it, as
  /// record() would have; null: none waits. Waits for the lane's runs; state and inputs are as
  /// before afterwards, outputs of earlier runs count as overwritten. A graph that differs, or
  /// whose test throws, is disabled, counted and noted. Throws OutOfMemory where state has no place
  /// to be saved in (the graph then waits on), and UsageError while asleep.
  std::optional<SelfTestResult> self_test_next();
  PoolReadiness readiness() const;

  /// Waits for the lane's runs; from then on everything that would run the step or change what is
  /// recorded is a UsageError, until wake(). For those who take physical memory away from under
  /// what the graphs hold (addresses stay) and bring it back before wake(): to the pool every
  /// graph is then as it was. A second sleep(), or wake() without one, is a UsageError.
  void sleep();
  void wake();

  /// Rows that would be computed for `rows`: the bucket, or `rows` itself above the ladder.
  int bucket(int rows) const;
  /// Drops all graphs; bindings must be given again. Counters stay. UsageError while asleep.
  void reset();

  Slot slot(std::string_view name) const;
  /// Throws UsageError that lists the names there are.
  Variant variant(std::string_view name) const;
  /// The output of the latest run, [its true rows] + row.
  OutputView output(std::string_view name) const;
  OutputView output(Slot slot) const;
  /// As GraphRunner::read.
  void read(const OutputView& output, std::span<std::byte> out);
  template <class T>
  void read(const OutputView& output, std::span<T> out) {
    read(output, std::as_writable_bytes(out));
  }

  /// Of all variants together, and of one.
  PoolCounters counters() const;
  PoolCounters counters(Variant variant) const;
  /// How many batches of i + 1 rows were run, at index i, up to max_rows: for propose_ladder().
  /// Valid as long as the pool.
  std::span<const std::uint64_t> batches() const noexcept;
  ExecutableCounters executables() const;
  /// Variant by variant, each in ascending order of rows.
  std::vector<BucketReport> buckets() const;
  /// The recorded graph of a size; throws UsageError where there is none, as with RecordMode::fake.
  const Graph& graph(int rows, Variant variant = {}) const;
  Stream& stream() noexcept;
  const std::shared_ptr<MemoryPool>& memory() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise
