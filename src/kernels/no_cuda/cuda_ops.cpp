// SPDX-License-Identifier: Apache-2.0
// Linked where the build has no CUDA.
#include <reprise/error.h>

#include "kernels/ops.h"

namespace reprise {

std::unique_ptr<Ops> make_cuda_ops(Device& device, const OpsOptions&) {
  throw DeviceError(
      "operations for " + device.label() +
      ": this program was built without CUDA; build with CUDA=1 or use --device host");
}

}  // namespace reprise
