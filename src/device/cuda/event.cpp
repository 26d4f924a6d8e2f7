// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/event.h"

#include "device/cuda/driver.h"
#include "device/cuda/status.h"

namespace reprise::cuda {

EventHandle::EventHandle(DeviceState& device, unsigned flags) {
  check(cudaSetDevice(device.properties.ordinal), device, "Device::create_event");
  const RelaxedGuard relaxed;
  check(cudaEventCreateWithFlags(&event_, flags), device, "Device::create_event");
}

EventHandle::~EventHandle() {
  const RelaxedGuard relaxed;
  // A lost device refuses this too; a destructor has nobody to tell.
  if (cudaEventDestroy(event_) != cudaSuccess) cudaGetLastError();
}

void CudaEvent::synchronize() {
  check(cudaEventSynchronize(handle()), device->state(), "Event::synchronize");
}

bool CudaEvent::query() {
  const cudaError_t status = cudaEventQuery(handle());
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(status, device->state(), "Event::query");
  return true;
}

double CudaEvent::elapsed_ms_since(const EventState& earlier) const {
  float milliseconds = 0;
  const auto& start = static_cast<const CudaEvent&>(earlier);
  check(cudaEventElapsedTime(&milliseconds, start.handle(), handle()), device->state(),
        "Event::elapsed_ms_since");
  return milliseconds;
}

}  // namespace reprise::cuda
