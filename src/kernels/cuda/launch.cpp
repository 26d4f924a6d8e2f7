// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.h"

#include <string>

#include <reprise/error.h>

#include "device/cuda/own_launch.h"

namespace reprise::cuda_kernels {

void launch_by_address(const Target& target, const char* operation, const void* kernel, dim3 grid,
                       dim3 block, void** arguments, const LaunchDeclaration& declaration) {
  const bool programmatic =
      declaration.programmatic && cuda::has_programmatic_launch(target.stream.device());
  cuda::launch_own(target.stream, operation, kernel, {.grid = grid, .block = block}, declaration,
                   programmatic, arguments);
}

LaunchDeclaration declaration_of(const Target& target, const ProgrammaticKernel& kernel,
                                 const DeclaredRange& writes) {
  LaunchDeclaration declaration{.programmatic = target.programmatic,
                                .waits = kernel.waits,
                                .triggers_early = kernel.triggers_early,
                                .prefetches = {},
                                .writes = {}};
  if (writes.bytes > 0) declaration.writes = {&writes, 1};
  return declaration;
}

void refuse_type(DType dtype, const char* what) {
  throw UsageError(std::string(what) + " is " + std::string(to_string(dtype)) +
                   "; the CUDA operations take f32, f16 and bf16");
}

void refuse_types(DType q, DType cache) {
  throw UsageError("rope: q is " + std::string(to_string(q)) + " and the cache " +
                   std::string(to_string(cache)) + "; the CUDA operations keep both in one type");
}

void refuse_head_dim(int head_dim, int most) {
  throw UsageError("attend.geometry.head_dim is " + std::to_string(head_dim) +
                   "; the CUDA operations take at most " + std::to_string(most) +
                   ", the host (--device host) any number");
}

}  // namespace reprise::cuda_kernels
