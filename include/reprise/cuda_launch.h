// SPDX-License-Identifier: Apache-2.0
// Opt-in header for steps that run on a CUDA device: launches a kernel as it declares itself
// (<reprise/launch_declaration.h>), so that programmatic dependent launch is a property of the
// kernel. Needs the CUDA toolkit's headers. Every call throws UsageError on another device.
#pragma once

#include <cstddef>
#include <string_view>

#include <cuda_runtime_api.h>

#include <reprise/device.h>
#include <reprise/launch_declaration.h>

namespace reprise::cuda {

struct LaunchShape {
  dim3 grid = dim3(1);
  dim3 block = dim3(1);
  std::size_t dynamic_shared_bytes = 0;
};

/// True where the device can launch programmatically: compute capability 9.0 and newer.
bool has_programmatic_launch(const Device& device);
/// True where `kernel`'s code can wait as well: it was compiled for 9.0 or newer, not for an older
/// target whose code the driver translated. Throws DeviceError for what is no kernel.
bool compiled_to_wait(const void* kernel);

/// Launches `kernel` on `stream` as `declaration` says; `label` names the node. Where the device or
/// the kernel's code knows no programmatic launch it is a plain one, which graphs show and
/// `reprise inspect` counts. Throws DeviceError, or CaptureError inside a recording, for what CUDA
/// refuses, and UsageError outside of one for a programmatic launch without a declared wait; inside
/// one capture() throws that when the recording ends. As launch(), with the arguments' addresses.
void launch_by_address(Stream& stream, std::string_view label, const void* kernel,
                       const LaunchShape& shape, const LaunchDeclaration& declaration,
                       void** arguments);

template <class... Parameters, class... Arguments>
void launch(Stream& stream, std::string_view label, void (*kernel)(Parameters...),
            const LaunchShape& shape, const LaunchDeclaration& declaration,
            const Arguments&... arguments) {
  [&](Parameters... values) {
    // One more than there are parameters: no array has no elements.
    void* addresses[] = {static_cast<void*>(&values)..., nullptr};
    launch_by_address(stream, label, reinterpret_cast<const void*>(kernel), shape, declaration,
                      addresses);
  }(arguments...);
}

}  // namespace reprise::cuda
