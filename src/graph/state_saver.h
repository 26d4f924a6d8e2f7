// SPDX-License-Identifier: Apache-2.0
// Saves a step's state tensors so that warm-up, recording and self-test leave no trace in them.
#pragma once

#include <vector>

#include <reprise/device.h>

#include "graph/result_staging.h"
#include "graph/step_harness.h"

namespace reprise {

class StateSaver {
 public:
  /// Enqueues a copy of every state tensor that is bound into memory of its own. The destructor
  /// does not restore: restoring can fail, so it is a call.
  StateSaver(StepHarness& harness, Stream& stream);
  /// Enqueues the way back.
  void restore(Stream& stream);
  /// The same where another exception is on its way: what fails here is not told.
  void restore_quietly(Stream& stream) noexcept;
  /// For the self-tests that are made meanwhile: goes with the copies.
  ResultStaging& staging() noexcept { return staging_; }

 private:
  struct Saved {
    MemoryView original;
    Buffer copy;
  };
  std::vector<Saved> saved_;
  ResultStaging staging_;
};

}  // namespace reprise
