// SPDX-License-Identifier: Apache-2.0
// Stands in for src/device/cuda/ in a build without CUDA.
#include "device/backend.h"

namespace reprise {

std::unique_ptr<DeviceState> open_cuda_backend(int) {
  throw DeviceError(
      "device cuda is not in this build (built without CUDA); use --device host, or build with "
      "NVIDIA's toolkit: CUDA=1 make build, which needs nvcc 12.4 or newer");
}

CudaPresence cuda_presence() {
  return {.built = false, .usable = false, .reason = "this build has no CUDA backend"};
}

}  // namespace reprise
