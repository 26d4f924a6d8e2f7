// SPDX-License-Identifier: Apache-2.0
#include "graph/output_stamps.h"

#include <fmt/format.h>

#include <reprise/error.h>

namespace reprise {
namespace {

/// "run 5, a replay of bucket 8".
std::string describe(const LatestRun& run) {
  switch (run.path) {
    case LatestRun::Path::replay:
      return fmt::format("run {}, a replay of bucket {}", run.number, run.rows);
    case LatestRun::Path::eager:
      return fmt::format("run {}, eager with {} rows", run.number, run.rows);
    case LatestRun::Path::none:
      break;
  }
  return fmt::format("run {}, which did not come to its end", run.number);
}

}  // namespace

OutputStamps::OutputStamps(const Step& step) : latest_(std::make_shared<LatestRun>()) {
  latest_->step = step.name;
  for (const Binding& binding : step.bindings) latest_->bindings.push_back(binding.name);
}

OutputView OutputStamps::view(Slot slot, const TensorView& tensor) const {
  return {.tensor = tensor,
          .generation = latest_->number,
          .slot = slot,
          .bucket = latest_->rows,
          .latest = latest_};
}

const TensorView& OutputView::checked() const {
  if (latest == nullptr) throw UsageError("this output view is empty; take it from output()");
  const std::string& name = latest->bindings[static_cast<std::size_t>(slot.index)];
  if (latest->gone) {
    throw UsageError(fmt::format(
        "output '{}' of '{}' (run {}, bucket {}) has gone with its runner or pool; read it before "
        "that is destroyed",
        name, latest->step, generation, bucket));
  }
  if (generation != latest->number) {
    throw UsageError(fmt::format(
        "output '{}' of '{}' of run {} (bucket {}) was overwritten by {}; read it before the next "
        "run",
        name, latest->step, generation, bucket, describe(*latest)));
  }
  return tensor;
}

MemoryView OutputView::memory() const {
  const TensorView& current = checked();
  return {current.data, current.bytes(), current.space};
}

}  // namespace reprise
