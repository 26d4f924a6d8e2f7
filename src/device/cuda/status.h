// SPDX-License-Identifier: Apache-2.0
// What CUDA's answers become: CaptureError for 900 to 908, OutOfMemory, a lost device for errors
// that only a new process cures, DeviceError for the rest. Each clears the thread's last error.
#pragma once

#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

#include "device/backend.h"

namespace reprise::cuda {

/// "cudaErrorIllegalAddress (700, an illegal memory access was encountered)".
std::string describe(cudaError_t status);
/// True for errors after which every later call of the process on the device fails as well.
bool is_sticky(cudaError_t status) noexcept;

[[noreturn]] void fail(cudaError_t status, DeviceState& device, std::string_view call);
[[noreturn]] void fail(cudaError_t status, StreamState& stream, std::string_view call);

/// `call` is how the user spells it: "Stream::fill".
inline void check(cudaError_t status, DeviceState& device, std::string_view call) {
  if (status != cudaSuccess) [[unlikely]]
    fail(status, device, call);
}
inline void check(cudaError_t status, StreamState& stream, std::string_view call) {
  if (status != cudaSuccess) [[unlikely]]
    fail(status, stream, call);
}

/// The text of a fault that the device itself found in `recording` (null: none of ours).
std::string capture_fault_text(cudaError_t status, std::string_view call, std::string_view target,
                               const LiveRecording* recording);
/// Throws CaptureError for 900 to 908 without touching any recording; otherwise as fail().
[[noreturn]] void fail_end_of_capture(cudaError_t status, StreamState& origin,
                                      const LiveRecording* recording);

}  // namespace reprise::cuda
