// SPDX-License-Identifier: Apache-2.0
// The state of a runner or of a pool's bucket. It changes along the table of run_state.cpp only.
#pragma once

#include <reprise/run_state.h>

namespace reprise {

class TrackedState {
 public:
  RunState get() const noexcept { return state_; }
  /// Throws Error where the table has no such edge: that is a fault of this library. Staying where
  /// it is, is no transition. `cold` can be reached from every state that this holds (`lost` is the
  /// device's, asked there), so giving up never throws.
  void set(RunState to);

 private:
  RunState state_ = RunState::cold;
};

}  // namespace reprise
