// SPDX-License-Identifier: Apache-2.0
// A stream on the host: a queue with a worker thread, or, while it is captured, a recording.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "device/host/queue.h"
#include "device/host/recording.h"

namespace reprise::host {

class HostStream final : public StreamState {
 public:
  HostStream(DeviceState& owning, std::string stream_name);

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

  void enqueue(std::string_view label, const LaunchDeclaration& declaration, Task task);
  Queue& queue() noexcept { return queue_; }

  /// What the stream records into, and the nodes that its next one comes after.
  struct Target {
    std::shared_ptr<Recording> recording;
    Frontier frontier;
    std::optional<std::uint32_t> last;  // as last_
  };
  /// The recording thread's: turns to a body and back.
  Target exchange_target(Target next);
  void append_conditional(Conditional node, std::vector<std::vector<NodeInfo>> bodies);

 private:
  bool capturing_locked();
  void leave_capture_locked();
  void submit(Work work, NodeKind kind, std::string_view leaf,
              const LaunchDeclaration& declaration);

  mutable std::mutex mutex_;
  std::shared_ptr<Recording> capture_;  // may have ended: then it no longer counts
  Frontier frontier_;
  std::optional<std::uint32_t> last_;  // the node this stream recorded last in `capture_`
  Queue queue_;
};

}  // namespace reprise::host
