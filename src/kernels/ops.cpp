// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops.h"

#include "kernels/composed_ops.h"

namespace reprise {

std::unique_ptr<Ops> make_ops(Device& device, const OpsOptions& options) {
  if (device.kind() == DeviceKind::cuda) return make_cuda_ops(device, options);
  return std::make_unique<ComposedOps>(make_simd_primitives(device));
}

}  // namespace reprise
