// SPDX-License-Identifier: Apache-2.0
// One graph per batch size over one private memory pool: the ladder, padding, fallback, counters.
#pragma once

#include <array>
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
#include <reprise/run_state.h>
#include <reprise/sleepable_memory.h>
#include <reprise/step.h>

namespace reprise {

struct GraphPoolOptions {
  /// Sizes to record, in any order; empty: default_ladder(max_rows).
  std::vector<int> sizes = {};
  /// Rows of the largest batch that may ever be run; sizes the static buffers and the memory for
  /// eager runs. 0: the largest of `sizes`. What lies between that and max_rows runs eagerly.
  int max_rows = 0;
  /// Off: a batch that is no recorded size exactly runs eagerly, unpadded.
  bool allow_padding = true;
  int warm_ups = 1;  ///< eager runs per size before recording; at least 1
  RecordMode record_mode = RecordMode::graphs;
  /// Compare eager and replay bitwise per size after recording; a size that differs is disabled.
  /// With fake recording a difference is the step's own: two calls of it from equal inputs, state
  /// and scratch that nobody wrote disagree, or it does something else in phase `recording`.
  bool self_test = true;
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
  /// Called after each size with the number done and of all; null: nobody is told.
  std::function<void(std::size_t done, std::size_t total)> on_progress = nullptr;
};

enum class RunPath : std::uint8_t {
  replay,  ///< a recorded graph was launched
  eager,   ///< the step function was called
  fake,    ///< the step function was called where a graph would have been launched
};

enum class FallbackReason : std::uint8_t {
  none,             ///< replayed (or fake), or eager because the caller asked for it
  above_ladder,     ///< more rows than the largest recorded size
  padding_refused,  ///< no graph of exactly this size, and padding is off
  not_recorded,     ///< the size is cold or warm
  bucket_disabled,  ///< recording or self-test of the size failed
};
inline constexpr std::size_t kFallbackReasons = 5;
std::string_view to_string(FallbackReason reason) noexcept;

struct RunResult {
  RunPath path = RunPath::replay;
  FallbackReason reason = FallbackReason::none;
  int rows = 0;    ///< true rows
  int bucket = 0;  ///< rows computed
};

struct BucketReport {
  int rows = 0;
  RunState state = RunState::cold;
  std::string reason;              ///< why disabled or lost; "" otherwise
  std::size_t nodes = 0;           ///< of its graph; 0 where there is none
  std::uint64_t replays = 0;       ///< of its graph
  std::uint64_t fake_replays = 0;  ///< calls of the step in place of a graph
  std::uint64_t padded_rows = 0;
  std::uint64_t fallbacks = 0;
};

struct RecordReport {
  double warm_up_seconds = 0;
  RecordMode mode = RecordMode::graphs;
  double record_seconds = 0;  ///< record, instantiate, upload
  double self_test_seconds = 0;
  std::size_t pool_bytes = 0;  ///< reserved by the memory pool afterwards
  std::size_t executable_bytes =
      0;                      ///< fall of the device's free memory round instantiate + upload
  std::vector<int> recorded;  ///< in the order of recording: descending
  std::vector<int> disabled;
  /// Recordings that something outside the library ended and that were made once more.
  std::uint64_t retried = 0;
};

struct PoolCounters {
  std::uint64_t replays = 0;       ///< launches of graphs
  std::uint64_t fake_replays = 0;  ///< with RecordMode::fake; never among `replays`
  std::uint64_t eager_steps = 0;   ///< asked for, or fallen back to
  std::uint64_t padded_rows = 0;   ///< rows computed beyond the true ones
  std::array<std::uint64_t, kFallbackReasons> fallbacks{};
  std::uint64_t all_fallbacks() const noexcept;
};

enum class RunMode : std::uint8_t {
  automatic,  ///< replay where possible, else eager, counted
  eager,      ///< the step itself at bucket(rows): bitwise what replay gives (DESIGN §3, E1)
};

/// One lane, as GraphRunner: bind, record, run, reset and read refuse a second thread, the other
/// calls read what those change and belong to the same thread. For a step with n rows, bucket(n) is
/// the smallest recorded size that holds them; a batch above the ladder runs eagerly at its own
/// size, one above max_rows is a UsageError.
class GraphPool {
 public:
  GraphPool(std::shared_ptr<Device> device, Step step, GraphPoolOptions options = {});
  ~GraphPool();
  GraphPool(GraphPool&&) noexcept;
  GraphPool& operator=(GraphPool&&) noexcept;

  /// Gives a bound or state tensor, [max_rows] + row where it is per row. Before record(); a second
  /// bind of the same name needs reset().
  void bind(std::string_view name, const TensorView& tensor);

  /// Two passes: warms up every size (and max_rows), then records every size, largest first, on one
  /// stream. The step sees only padding rows: pad values, and row count 0, but in the self-test,
  /// where all rows of the size count as true ones. So what a step does for pad values must do no
  /// harm to bound memory; state is as before afterwards. Sizes that fail are disabled and
  /// reported; if all fail, the first error is thrown. A recording that something outside the
  /// library ended (CaptureFault::invalidated) is made once more, counted and noted: the step
  /// function is then called twice for that size. After an exception nothing is recorded, what
  /// was bound stays bound, and record() may be called again. A second record() needs reset().
  RecordReport record();

  /// Runs `rows` rows on the pool's stream (or on `stream`), asynchronously. A copied input not
  /// given keeps its value; per-row ones must be given when the number of rows changed. Throws
  /// UsageError for rows < 1 or > max_rows, a wrong shape, dtype or stride, or a moved bound buffer
  /// (then a recorded pool is stale until reset()), and CaptureError while the stream or the
  /// calling thread records; all of these change nothing. After any other exception, such as one of
  /// the step itself, the inputs given must be given again and there is no output to read.
  RunResult run(int rows, std::initializer_list<NamedInput> inputs,
                RunMode mode = RunMode::automatic);
  RunResult run(int rows, std::span<const Input> inputs, RunMode mode = RunMode::automatic);
  RunResult run(Stream& stream, int rows, std::span<const Input> inputs,
                RunMode mode = RunMode::automatic);

  /// Rows that would be computed for `rows`: the bucket, or `rows` itself above the ladder.
  int bucket(int rows) const;
  /// Drops all graphs; bindings must be given again. Counters stay.
  void reset();

  Slot slot(std::string_view name) const;
  /// The output of the latest run, [its true rows] + row.
  OutputView output(std::string_view name) const;
  OutputView output(Slot slot) const;
  /// As GraphRunner::read.
  void read(const OutputView& output, std::span<std::byte> out);
  template <class T>
  void read(const OutputView& output, std::span<T> out) {
    read(output, std::as_writable_bytes(out));
  }

  PoolCounters counters() const;
  std::vector<BucketReport> buckets() const;
  /// The recorded graph of a size; throws UsageError where there is none, as with RecordMode::fake.
  const Graph& graph(int rows) const;
  Stream& stream() noexcept;
  const std::shared_ptr<MemoryPool>& memory() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise
