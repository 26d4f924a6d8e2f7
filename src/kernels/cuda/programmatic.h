// SPDX-License-Identifier: Apache-2.0
// Whether a device's operations are launched programmatically, and how often they were not for want
// of the device or of code that can wait. They are right all the same, only slower.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/log.h"
#include "kernels/cuda/launch.h"
#include "kernels/ops.h"

namespace reprise::cuda_kernels {

/// Thread safe, once the sink is set.
class ProgrammaticLaunches {
 public:
  ProgrammaticLaunches(Device& device, bool wanted);

  void set_on_note(LogSink on_note) { on_note_ = std::move(on_note); }
  /// Where a kernel that takes part is to be enqueued. The first that cannot is noted.
  Target on(Stream& stream);
  /// Adds the count, if there is one.
  void add_to(std::vector<KernelFallback>& counts) const;

 private:
  Device& device_;
  const bool declared_;  ///< what launches ask for
  const bool missing_;   ///< asked for, and made plainly
  LogSink on_note_;
  std::atomic<std::uint64_t> plain_{0};
};

}  // namespace reprise::cuda_kernels
