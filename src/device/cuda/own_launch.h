// SPDX-License-Identifier: Apache-2.0
// How launchers of this library put kernels on a stream: as cuda::enqueue() of <reprise/cuda.h>,
// but the native handle stays with them. So a recording need not look for work of others between
// two launches, nor read back from CUDA what the launcher knows.
#pragma once

#include <string_view>
#include <utility>

#include <cuda_runtime_api.h>

#include <reprise/device.h>
#include <reprise/launch_declaration.h>

#include "device/cuda/node_labels.h"

namespace reprise::cuda {

/// As native(stream), for launches that are over, and noted, before anybody else runs. The caller
/// keeps no copy, hands none on, and sets no attribute of the stream.
cudaStream_t own_launch_handle(Stream& stream);

/// As note_work(). `supported` is false where a programmatic launch was made plainly. `launch`: of
/// a single kernel launched with no attribute but programmatic serialization; else empty.
void note_own_launch(Stream& stream, std::string_view label, const LaunchDeclaration& declaration,
                     bool supported, const KnownLaunch& launch);

inline KnownLaunch known_launch(const void* kernel, const cudaLaunchConfig_t& config) {
  return {.kernel = kernel,
          .grid = {config.gridDim.x, config.gridDim.y, config.gridDim.z},
          .block = {config.blockDim.x, config.blockDim.y, config.blockDim.z},
          .dynamic_shared_bytes = config.dynamicSmemBytes};
}

}  // namespace reprise::cuda
