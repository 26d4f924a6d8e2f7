// SPDX-License-Identifier: Apache-2.0
// The latest run of a runner or pool, and the views of its outputs, which compare themselves with
// it: all sizes write the same output buffers, so a view is good until anything else runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <reprise/step.h>

namespace reprise {

/// Shared by a step's stamps and the views of its outputs. Touched on the step's lane only.
struct LatestRun {
  enum class Path : std::uint8_t { none, replay, eager };

  std::string step;
  std::vector<std::string> bindings;  ///< their names, by slot
  std::uint64_t number = 0;
  int rows = 0;  ///< that it computes
  Path path = Path::none;
  bool gone = false;  ///< runner or pool were destroyed, and the outputs with them
};

/// Owned by what runs the step.
class OutputStamps {
 public:
  explicit OutputStamps(const Step& step);
  ~OutputStamps() { latest_->gone = true; }
  OutputStamps(const OutputStamps&) = delete;
  OutputStamps& operator=(const OutputStamps&) = delete;

  /// Views of earlier runs are stale from here on. What follows is stored on the way of every
  /// replay: no more than a few integers.
  void begin_run() noexcept {
    ++latest_->number;
    latest_->path = LatestRun::Path::none;
  }
  void note_replay(int rows) noexcept { note(LatestRun::Path::replay, rows); }
  void note_eager(int rows) noexcept { note(LatestRun::Path::eager, rows); }

  OutputView view(Slot slot, const TensorView& tensor) const;

 private:
  void note(LatestRun::Path path, int rows) noexcept {
    latest_->path = path;
    latest_->rows = rows;
  }

  const std::shared_ptr<LatestRun> latest_;
};

}  // namespace reprise
