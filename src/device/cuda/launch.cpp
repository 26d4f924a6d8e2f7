// SPDX-License-Identifier: Apache-2.0
// Launches that keep to a declaration.
#include <fmt/format.h>

#include <reprise/cuda.h>
#include <reprise/cuda_launch.h>
#include <reprise/error.h>

#include "device/cuda/own_launch.h"
#include "device/cuda/status.h"
#include "device/cuda/stream.h"
#include "device/launch_lint.h"

namespace reprise::cuda {
namespace {

constexpr int kFirstCapability = 90;

}  // namespace

bool has_programmatic_launch(const Device& device) {
  return device.kind() == DeviceKind::cuda &&
         device.properties().compute_capability >= kFirstCapability;
}

bool compiled_to_wait(const void* kernel) {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, kernel);
  if (status != cudaSuccess) {
    cudaGetLastError();
    throw DeviceError(fmt::format("cuda::compiled_to_wait: {}", describe(status)),
                      static_cast<int>(status));
  }
  // The target of the source, not of the code that runs: code for an older one has no wait in it.
  return attributes.ptxVersion >= kFirstCapability;
}

void launch_own(Stream& stream, std::string_view label, const void* kernel,
                const LaunchShape& shape, const LaunchDeclaration& declaration, bool programmatic,
                void** arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.dynamic_shared_bytes;
  config.stream = own_launch_handle(stream);
  config.attrs = &attribute;
  config.numAttrs = programmatic ? 1 : 0;
  const cudaError_t status = cudaLaunchKernelExC(&config, kernel, arguments);
  const KnownLaunch known{.kernel = kernel,
                          .grid = {shape.grid.x, shape.grid.y, shape.grid.z},
                          .block = {shape.block.x, shape.block.y, shape.block.z},
                          .dynamic_shared_bytes = shape.dynamic_shared_bytes};
  note_own_launch(stream, label, declaration, programmatic, known, status);
}

void launch_by_address(Stream& stream, std::string_view label, const void* kernel,
                       const LaunchShape& shape, const LaunchDeclaration& declaration,
                       void** arguments) {
  own_launch_handle(stream);  // refuses another device first
  if (!stream.recording()) {
    require_declared_wait(declaration, "cuda::launch", label, stream.state());
  }
  const bool programmatic = declaration.programmatic && has_programmatic_launch(stream.device()) &&
                            compiled_to_wait(kernel);
  launch_own(stream, label, kernel, shape, declaration, programmatic, arguments);
}

}  // namespace reprise::cuda
