// SPDX-License-Identifier: Apache-2.0
// An event on a CUDA device. Inside a recording it is a dependency only and makes no node.
#pragma once

#include <cuda_runtime_api.h>

#include "device/backend.h"

namespace reprise::cuda {

/// Owns a raw event; used alone where no clock is needed.
class EventHandle {
 public:
  EventHandle(DeviceState& device, unsigned flags);
  ~EventHandle();
  EventHandle(const EventHandle&) = delete;
  EventHandle& operator=(const EventHandle&) = delete;
  cudaEvent_t get() const noexcept { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaEvent final : public EventState {
 public:
  explicit CudaEvent(DeviceState& owning) : handle_(owning, cudaEventDefault) {}

  void synchronize() override;
  bool query() override;
  double elapsed_ms_since(const EventState& earlier) const override;

  cudaEvent_t handle() const noexcept { return handle_.get(); }

 private:
  EventHandle handle_;
};

}  // namespace reprise::cuda
