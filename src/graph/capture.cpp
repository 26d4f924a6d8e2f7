// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <reprise/graph.h>

#include "device/checks.h"
#include "device/launch_lint.h"

namespace reprise {
namespace {

/// A recording from begin to end. Discards it unless it was committed: a destructor never commits.
class CaptureGuard {
 public:
  explicit CaptureGuard(std::shared_ptr<StreamState> stream)
      : stream_(std::move(stream)), recording_(recordings::open(*stream_)) {
    try {
      stream_->begin_capture(recording_);
    } catch (...) {
      recordings::close(recording_);
      throw;
    }
  }
  ~CaptureGuard() {
    if (!ended_) stream_->discard_capture();
    recordings::close(recording_);
  }
  CaptureGuard(const CaptureGuard&) = delete;
  CaptureGuard& operator=(const CaptureGuard&) = delete;

  std::shared_ptr<RecordedGraph> commit() {
    if (recording_->spoilt()) recording_->throw_spoilt();
    stream_->owner->require_usable();
    const std::string where = fmt::format("capture on {}", checks::describe(*stream_));
    if (const auto stray = recording_->unjoined()) {
      throw CaptureError(
          CaptureFault::unjoined,
          fmt::format("{}: stream '{}' joined recording {} and was not joined back ({}); record an "
                      "event on it after its last work and let stream '{}' wait for that event",
                      where, *stray, recording_->id, recording_->progress(),
                      recording_->origin_name));
    }
    if (stream_->captured_nodes() == 0) {
      throw CaptureError(
          CaptureFault::empty,
          fmt::format("{}: recording {} holds no work; enqueue it on this stream, or "
                      "on streams that join it by events",
                      where, recording_->id));
    }
    ended_ = true;  // end_capture leaves the streams usable even when it throws
    std::shared_ptr<RecordedGraph> recorded = stream_->end_capture();
    if (const auto fault = launch_fault(recorded->nodes())) {
      throw CaptureError(CaptureFault::refused, fmt::format("{}: {}", where, *fault));
    }
    return recorded;
  }

 private:
  // Keeps the stream for the recording's sake: the body may destroy the caller's Stream.
  const std::shared_ptr<StreamState> stream_;
  const std::shared_ptr<LiveRecording> recording_;
  bool ended_ = false;
};

}  // namespace

Graph capture(Stream& stream, const std::function<void()>& body) {
  std::shared_ptr<Device> device = stream.device().shared_from_this();
  device->state().require_usable();
  CaptureGuard guard(stream.shared_state());
  body();
  return Graph(std::move(device), guard.commit());
}

}  // namespace reprise
