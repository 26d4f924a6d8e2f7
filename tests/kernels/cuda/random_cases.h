// SPDX-License-Identifier: Apache-2.0
// Random cases for as long as the program was told to run, on as many threads as it was told.
#pragma once

#include <functional>

#include "kernels/cuda/gpu_world.h"

namespace reprise::testing {

enum class Compared {
  with_reference,  ///< one operation of one random shape, its whole output beside the host's
  with_itself,     ///< bits of one operation run in two ways, both on the GPU
};

/// Runs `one_case` over and over, each time with another seed: at least some times, then until this
/// test's share of the time is up or a case has failed. Several threads do so at once, each with a
/// world of its own; what the case draws from it must be all that it depends on. A failure says
/// how to repeat the case alone.
void random_cases(Compared compared, const std::function<void(GpuWorld&)>& one_case);

}  // namespace reprise::testing
