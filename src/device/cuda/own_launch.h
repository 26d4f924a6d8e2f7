// SPDX-License-Identifier: Apache-2.0
// How launchers of this library put kernels on a stream: as cuda::enqueue() of <reprise/cuda.h>,
// but the native handle stays with them. So a recording need not look for work of others between
// two launches, nor read back from CUDA what the launcher knows.
#pragma once

#include <string_view>
#include <utility>

#include <cuda_runtime_api.h>

#include <reprise/cuda_launch.h>
#include <reprise/device.h>
#include <reprise/launch_declaration.h>

#include "device/cuda/node_labels.h"

namespace reprise::cuda {

/// As native(stream), for launches that are over, and noted, before anybody else runs. The caller
/// keeps no copy, hands none on, and sets no attribute of the stream.
cudaStream_t own_launch_handle(Stream& stream);

/// As note_work(). `supported` is false where a programmatic launch was made plainly. `launch`: of
/// a single kernel launched with no attribute but programmatic serialization; else empty. `status`:
/// what the launch answered, or what cudaGetLastError() has where others launch.
void note_own_launch(Stream& stream, std::string_view label, const LaunchDeclaration& declaration,
                     bool supported, const KnownLaunch& launch, cudaError_t status);

/// One kernel, launched and noted: programmatically where `programmatic`, which the caller has
/// found the device able to do. Throws as note_work().
void launch_own(Stream& stream, std::string_view label, const void* kernel,
                const LaunchShape& shape, const LaunchDeclaration& declaration, bool programmatic,
                void** arguments);

}  // namespace reprise::cuda
