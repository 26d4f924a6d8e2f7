// SPDX-License-Identifier: Apache-2.0
// A stream on a CUDA device: non-blocking, or a wrapper of the legacy default stream, on which
// nothing can be recorded.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

#include "device/cuda/driver.h"
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
  std::unique_ptr<ConditionalCapture> begin_conditional(const ConditionalSpec& spec) override;
  std::size_t captured_nodes() const override;
  void labels_will_change() override;

  /// synchronize() for those who cannot throw.
  bool wait_quietly() noexcept;
  cudaStream_t handle() const noexcept { return stream_; }
  /// For other threads than the recording one. Only to be compared: it may be gone.
  cudaStream_t handle_now() noexcept {
    return std::atomic_ref(stream_).load(std::memory_order_relaxed);
  }

  /// Raw launches by the caller follow: gives what was recorded before its label, and makes the
  /// device current for the thread.
  void before_raw_work();
  /// Somebody outside of the library has the native handle now, and may keep it. Before that there
  /// is nothing on the stream that the library did not put there.
  void hand_out() noexcept { handed_out_.store(true, std::memory_order_relaxed); }
  bool handed_out() const noexcept { return handed_out_.load(std::memory_order_relaxed); }
  /// Names and counts what was recorded by others, and finds a spoilt recording out. On another
  /// thread than the recording one: nothing.
  void look_for_new_nodes();
  /// Throws what the launches were refused with, `status`. Names the nodes recorded since the last
  /// call `label` under the open scopes, and counts them.
  void after_raw_work(std::string_view label, cudaError_t status);
  /// What the kernels that after_raw_work() just named declare; `launch`: how one was launched,
  /// where that is known.
  void declare_new_nodes(DeclaredLaunch declared, const KnownLaunch& launch);

  // For conditional nodes; the recording thread's, while it records.
  /// The native stream that takes the work, and the recording that this becomes part of.
  struct Target {
    cudaStream_t handle = nullptr;
    std::shared_ptr<LiveRecording> recording;
  };
  /// Turns the stream to a body and back. Returns what it had.
  Target exchange_target(Target next) noexcept;
  /// Names nodes of ours, which do not count as work of the recording.
  void name_control_nodes(const std::string& label);
  /// Device memory that lives as long as what is made of the recording.
  void* keep_memory(std::size_t bytes);
  /// Of the recording and all its bodies.
  NodeLabels& shared_labels() const;

 private:
  bool capturing_locked() const;
  /// False where each node that the stream leads to was named when it was made.
  bool may_have_others_work() const noexcept {
    return handed_out() || waited_.load(std::memory_order_relaxed);
  }
  /// Names nodes that nobody named yet; returns how many. `recording` takes the work.
  void name_new_nodes(LiveRecording& recording, std::string_view leaf, bool count);
  template <class Enqueue>
  void enqueue(std::string_view call, const Enqueue& enqueue);

  cudaStream_t stream_ = nullptr;  // while a body is recorded: another one
  const bool legacy_;
  // Orders the beginning of a recording and waits by other threads, which would break it. No work
  // takes it, and no replay.
  mutable std::mutex mutex_;
  std::shared_ptr<LiveRecording> captured_in_;  // may have ended: then it no longer counts
  // What a wait waits for: recorded at each wait, and last before a recording begins.
  EventHandle reached_;
  NodeLabels node_labels_;  // of the recording that this stream is the origin of
  CaptureTail tail_;        // of name_new_nodes(): kept for its memory; the recording thread's
  std::atomic<bool> handed_out_{false};
  std::atomic<bool> waited_{false};  // for an event, since it was last looked at
};

}  // namespace reprise::cuda
