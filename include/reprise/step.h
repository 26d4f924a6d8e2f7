// SPDX-License-Identifier: Apache-2.0
// A step: the work that is recorded once and replayed, and how its data reaches it. Works for any
// step, not only a language model's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/device.h>

namespace reprise {

enum class BindingKind : std::uint8_t {
  copied,  ///< input; we own the buffer the step reads, the caller's address is free every time
  bound,   ///< recorded by the caller's address, never copied; must not move (§5)
  state,   ///< as bound, but the step writes it: saved before warm-up, restored after recording, so
           ///< that recording has no side effect
  output,  ///< we own the buffer the step writes; read it with output()
};

/// A named tensor of a step.
struct Binding {
  std::string name;
  BindingKind kind = BindingKind::copied;
  DType dtype = DType::f32;
  /// Shape of one row; the step sees [rows] + row. With per_row off, the whole shape.
  Shape row = {};
  bool per_row = true;
  /// Value of the elements of padding rows; `copied` only.
  double pad = 0;
  /// The step itself overwrites this input (a token fed back on the device): a value given is
  /// always copied, one not given stays as the device left it, whatever else is copied. `copied`
  /// only.
  bool written_by_step = false;
  /// Names of the variants that see this binding; empty: all. To the others it does not exist: they
  /// need no value for it, and giving one is a UsageError.
  std::vector<std::string> variants = {};
};

/// Index of a binding; names are resolved once, outside the hot path.
struct Slot {
  int index = -1;
};

/// Index of a variant of a pool's step, in the order of GraphPoolOptions::variants; the first one
/// is what runs where none is named.
struct Variant {
  int index = 0;
};

/// A value for a binding in one call.
struct Input {
  Slot slot;
  TensorView value;
};
/// The same by name; convenient, costs a search.
struct NamedInput {
  std::string_view name;
  TensorView value;
};

/// Why the step function is being called.
enum class StepPhase : std::uint8_t {
  warm_up,    ///< first runs of a size: load modules, make plans, measure; results are thrown away
  recording,  ///< what is enqueued is recorded, nothing runs (but see RecordMode::fake)
  eager,      ///< runs now, for its results
};

/// What a step function works with. Valid during the call only.
class StepContext {
 public:
  virtual ~StepContext() = default;
  virtual Stream& stream() noexcept = 0;
  virtual StepPhase phase() const noexcept = 0;
  /// Rows this call computes: the bucket. The true number lies on the device, see Step::row_count.
  virtual int rows() const noexcept = 0;
  /// Which variant of the step this call is (GraphPoolOptions::variants, RunnerOptions::variant);
  /// "" where there are none.
  virtual std::string_view variant() const noexcept = 0;
  /// The device tensor of a binding, [rows()] + row (of a bound one the first rows). Its address is
  /// the same in every call with the same number of rows. Throws UsageError for a name that is
  /// unknown or that this variant does not see.
  virtual TensorView tensor(std::string_view name) const = 0;
  /// Scratch memory from the private pool, aligned to 256 bytes, contents undefined. It is free
  /// again when the step function returns, so other sizes reuse it; the same requests yield the
  /// same addresses.
  virtual void* scratch(std::size_t bytes, std::string_view label) = 0;
};

struct Step {
  std::string name = "step";
  std::vector<Binding> bindings;
  /// Name under which the step finds the number of true rows, an i32 scalar on the device that the
  /// runner fills; "" where the step has no use for it.
  std::string row_count;
  /// Enqueues the step's work on context.stream() and on streams forked from it and joined back.
  std::function<void(StepContext& context)> run;
  /// The step changes device memory that is not declared: recording it then may have side effects,
  /// and it gets no self-test.
  bool undeclared_state = false;
};

struct LatestRun;  // in src/graph/

/// An output of one run. All sizes of a step write the same output buffers, so it holds until
/// anything else runs on the same runner or pool; after that reading it is an error that names the
/// output, its bucket, and what has run since. On the step's lane only.
struct OutputView {
  TensorView tensor;             ///< as it was then; checked() is what to read
  std::uint64_t generation = 0;  ///< number of the run
  Slot slot;
  int bucket = 0;  ///< rows that the run computed
  std::shared_ptr<const LatestRun> latest = {};

  /// The tensor, to pass it on: as an input ({"x", view.checked()}) or to a kernel that is enqueued
  /// before the next run. Throws UsageError once the output was overwritten, or its runner or pool
  /// was destroyed.
  const TensorView& checked() const;
  /// The same as bytes, for Stream::copy.
  MemoryView memory() const;
};

}  // namespace reprise
