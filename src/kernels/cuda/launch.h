// SPDX-License-Identifier: Apache-2.0
// How this folder enqueues a kernel. What throws stands in launch.cpp, so that nvcc sees little.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include <reprise/launch_declaration.h>

#include "kernels/ops.h"

namespace reprise::cuda_kernels {

/// Where kernels are enqueued, and whether those that declare themselves are launched
/// programmatically. A stream alone is a target for plain launches.
struct Target {
  Target(Stream& where, bool programmatically = false)
      : stream(where), programmatic(programmatically) {}
  Stream& stream;
  bool programmatic;
};

/// How a kernel takes part in programmatic launch: a constant beside each kernel that does.
/// tools/check_sass.py reads these and holds the compiled code against them, so `kernel` is the
/// function's name and each is written in full.
struct ProgrammaticKernel {
  const char* kernel;
  bool waits;           ///< it calls wait_for_producer() first of all (kernels/cuda/pdl.cuh)
  bool triggers_early;  ///< it calls let_consumer_start()
};

/// As below, with the addresses of the arguments.
void launch_by_address(const Target& target, const char* operation, const void* kernel, dim3 grid,
                       dim3 block, void** arguments, const LaunchDeclaration& declaration);
/// Refers to `writes`: what the launch writes; an empty range: nothing, or not told.
LaunchDeclaration declaration_of(const Target& target, const ProgrammaticKernel& kernel,
                                 const DeclaredRange& writes);

/// All memory a kernel touches is passed by address and its grid is fixed by the plan, so that the
/// launch can be recorded. Throws DeviceError, or CaptureError inside a recording. `operation` is
/// the label of the node.
template <class... Parameters, class... Arguments>
void launch(Stream& stream, const char* operation, void (*kernel)(Parameters...), dim3 grid,
            dim3 block, const Arguments&... arguments) {
  [&](Parameters... values) {
    void* addresses[] = {static_cast<void*>(&values)...};
    launch_by_address(stream, operation, reinterpret_cast<const void*>(kernel), grid, block,
                      addresses, {});
  }(arguments...);
}

/// The same for a kernel that takes part in programmatic launch.
template <class... Parameters, class... Arguments>
void launch(const Target& target, const char* operation, const ProgrammaticKernel& declared,
            const DeclaredRange& writes, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            const Arguments&... arguments) {
  [&](Parameters... values) {
    void* addresses[] = {static_cast<void*>(&values)...};
    launch_by_address(target, operation, reinterpret_cast<const void*>(kernel), grid, block,
                      addresses, declaration_of(target, declared, writes));
  }(arguments...);
}

inline DeclaredRange range_of(const void* data, std::int64_t elements, DType dtype,
                              const char* label) {
  return {
      .data = data, .bytes = static_cast<std::size_t>(elements) * size_of(dtype), .label = label};
}

inline unsigned blocks_for(std::int64_t items, int per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

/// Refusals. Throw UsageError.
[[noreturn]] void refuse_type(DType dtype, const char* what);
[[noreturn]] void refuse_types(DType q, DType cache);
[[noreturn]] void refuse_head_dim(int head_dim, int most);

}  // namespace reprise::cuda_kernels
