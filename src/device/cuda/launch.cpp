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

void launch_by_address(Stream& stream, std::string_view label, const void* kernel,
                       const LaunchShape& shape, const LaunchDeclaration& declaration,
                       void** arguments) {
  const cudaStream_t handle = own_launch_handle(stream);  // refuses another device first
  if (!stream.recording()) {
    require_declared_wait(declaration, "cuda::launch", label, stream.state());
  }
  const bool programmatic = declaration.programmatic && has_programmatic_launch(stream.device()) &&
                            compiled_to_wait(kernel);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.dynamic_shared_bytes;
  config.stream = handle;
  config.attrs = &attribute;
  config.numAttrs = programmatic ? 1 : 0;
  cudaLaunchKernelExC(&config, kernel, arguments);  // note_own_launch() asks for its error
  note_own_launch(stream, label, declaration, programmatic, known_launch(kernel, config));
}

}  // namespace reprise::cuda
