// SPDX-License-Identifier: Apache-2.0
#include "open_device.h"

#include "core/log.h"
#include "device/backend.h"
#include "device/spec.h"

namespace reprise::cli {

std::shared_ptr<Device> open_device(const std::string& spec) {
  std::shared_ptr<Device> device = Device::open(spec);
  if (!parse_device_spec(spec).automatic || device->kind() == DeviceKind::cuda) return device;
  const CudaPresence cuda = cuda_presence();
  if (cuda.built) {
    stderr_sink()("running on the host, without a GPU: " + cuda.reason +
                  " (--device host leaves out this note)");
  }
  return device;
}

}  // namespace reprise::cli
