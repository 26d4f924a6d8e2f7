// SPDX-License-Identifier: Apache-2.0
// How this folder enqueues a kernel. What throws stands in launch.cpp, so that nvcc sees little.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "kernels/ops.h"

namespace reprise::cuda_kernels {

/// As below, with the addresses of the arguments.
void launch_by_address(Stream& stream, const char* operation, const void* kernel, dim3 grid,
                       dim3 block, void** arguments);

/// All memory a kernel touches is passed by address and its grid is fixed by the plan, so that the
/// launch can be recorded. Throws DeviceError, or CaptureError inside a recording. `operation` is
/// the label of the node.
template <class... Parameters, class... Arguments>
void launch(Stream& stream, const char* operation, void (*kernel)(Parameters...), dim3 grid,
            dim3 block, const Arguments&... arguments) {
  [&](Parameters... values) {
    void* addresses[] = {static_cast<void*>(&values)...};
    launch_by_address(stream, operation, reinterpret_cast<const void*>(kernel), grid, block,
                      addresses);
  }(arguments...);
}

inline unsigned blocks_for(std::int64_t items, int per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

/// Refusals. Throw UsageError.
[[noreturn]] void refuse_type(DType dtype, const char* what);
[[noreturn]] void refuse_types(DType q, DType cache);
[[noreturn]] void refuse_head_dim(int head_dim, int most);

}  // namespace reprise::cuda_kernels
