// SPDX-License-Identifier: Apache-2.0
// Sees every call of CUDA's runtime and driver through CUPTI, and judges those that are made while
// something records on the device (device/call_watch.h).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

#include "device/backend.h"
#include "device/call_watch.h"
#include "device/cuda/cupti.h"

namespace reprise::cuda {

using Recordings = std::vector<std::shared_ptr<LiveRecording>>;

class CallObserver final : public CallWatch {
 public:
  explicit CallObserver(DeviceState& device);
  ~CallObserver() override;

 private:
  static void on_call(void* user, CuptiDomain domain, std::uint32_t id, const void* call);
  void on_entry(CuptiDomain domain, const CuptiCall& call);
  bool go_deeper();  // true: this is a call of its own
  void go_back();
  void look_at(const CuptiCall& call);
  /// Recordings of the device, bodies too, whose captures have begun and not ended.
  Recordings begun() const;
  void keep_call(CallEffect effect, const CuptiCall& call, std::optional<cudaStream_t> stream,
                 LiveRecording& recording);

  DeviceState& device_;
  Cupti cupti_;
  std::atomic<int> running_{0};  // callbacks that have begun and not ended
  std::mutex mutex_;
  // How deep each thread is in calls of the runtime: calls inside one are parts of it, as are those
  // that the judging itself makes.
  std::map<std::thread::id, int> depth_;
};

}  // namespace reprise::cuda
