// SPDX-License-Identifier: Apache-2.0
// The kernel that writes down the time.
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

namespace reprise::cuda {

/// Adds a node behind `before` that writes the device's clock, in nanoseconds since some point of
/// the past, to `to`. The clock moves in steps: 32 ns on Hopper, up to 1 µs on older devices.
cudaError_t add_stamp_node(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& before,
                           std::uint64_t* to, cudaGraphNode_t& node);

}  // namespace reprise::cuda
