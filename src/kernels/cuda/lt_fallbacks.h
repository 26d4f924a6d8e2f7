// SPDX-License-Identifier: Apache-2.0
// Counts the products of many rows that cuBLASLt did not take, by reason. They are right all the
// same, only slower.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/log.h"
#include "kernels/cuda/lt_matmul.h"

namespace reprise::cuda_kernels {

/// Thread safe, once the sink is set.
class LtFallbacks {
 public:
  void set_on_note(LogSink on_note) { on_note_ = std::move(on_note); }
  /// The first of a reason is noted, with the product that it was.
  void count(LtAnswer reason, const MatmulArgs& args);
  std::vector<KernelFallback> counts() const;

 private:
  LogSink on_note_;
  std::array<std::atomic<std::uint64_t>, 3> calls_{};  // by LtAnswer
};

}  // namespace reprise::cuda_kernels
