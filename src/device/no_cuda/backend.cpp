// SPDX-License-Identifier: Apache-2.0
// Stands in for src/device/cuda/ in a build without CUDA.
#include "device/backend.h"

namespace reprise {

std::unique_ptr<DeviceState> open_cuda_backend(int) {
  throw DeviceError(
      "device cuda is not in this build (built without CUDA); use host, or build with the CUDA "
      "toolkit installed (make build CUDA=1)");
}

bool cuda_available() noexcept { return false; }

}  // namespace reprise
