// SPDX-License-Identifier: Apache-2.0
// A stream on a CUDA device: non-blocking, or a wrapper of the legacy default stream, on which
// nothing can be recorded.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

#include "device/cuda/event.h"
#include "device/cuda/node_labels.h"

namespace reprise::cuda {

class CudaStream final : public StreamState {
 public:
  CudaStream(DeviceState& owning, std::string stream_name, bool legacy);
  ~CudaStream() override;

  void copy(MemoryView destination, MemoryView source) override;
  void fill(MemoryView destination, std::uint8_t value) override;
  void record(EventState& event) override;
  void wait(const EventState& event) override;
  void synchronize() override;
  bool query() override;
  void begin_capture(std::shared_ptr<LiveRecording> recording) override;
  std::shared_ptr<RecordedGraph> end_capture() override;
  void discard_capture() noexcept override;
  std::size_t captured_nodes() const override;
  void labels_will_change() override;

  /// synchronize() for those who cannot throw.
  bool wait_quietly() noexcept;
  cudaStream_t handle() const noexcept { return stream_; }

  /// Raw launches by the caller follow: gives what was recorded before its label, and makes the
  /// device current for the thread.
  void before_raw_work();
  /// Throws what the thread's launches were refused with. Names the nodes recorded since the last
  /// call `label` under the open scopes, and counts them.
  void after_raw_work(std::string_view label);

 private:
  bool capturing_locked() const;
  NodeLabels& shared_labels() const;
  /// Names nodes that nobody named yet; returns how many. `recording` takes the work.
  void name_new_nodes(LiveRecording& recording, std::string_view leaf, bool count);
  template <class Enqueue>
  void enqueue(std::string_view call, const Enqueue& enqueue);

  cudaStream_t stream_ = nullptr;
  const bool legacy_;
  // Orders the beginning of a recording and waits by other threads, which would break it. No work
  // takes it, and no replay.
  mutable std::mutex mutex_;
  std::shared_ptr<LiveRecording> captured_in_;  // may have ended: then it no longer counts
  // What a wait waits for: recorded at each wait, and last before a recording begins.
  EventHandle reached_;
  NodeLabels node_labels_;  // of the recording that this stream is the origin of
};

}  // namespace reprise::cuda
