// SPDX-License-Identifier: Apache-2.0
// An event on the host: a ticket of a stream's queue, or a frontier of a recording.
#pragma once

#include <memory>
#include <mutex>

#include "device/host/queue.h"
#include "device/host/recording.h"

namespace reprise::host {

class HostEvent final : public EventState {
 public:
  struct Point {
    std::shared_ptr<Progress> progress;
    std::uint64_t ticket = 0;
    std::shared_ptr<Recording> recording;  ///< set: the point lies in a recording
    Frontier frontier;
  };

  void synchronize() override;
  bool query() override;
  double elapsed_ms_since(const EventState& earlier) const override;

  /// Marks the end of what `queue` holds now.
  void record(Queue& queue);
  void record(std::shared_ptr<Recording> recording, Frontier frontier);
  Point point() const;

 private:
  mutable std::mutex mutex_;
  Point point_;
  std::shared_ptr<Timestamp> timestamp_ = std::make_shared<Timestamp>();
};

}  // namespace reprise::host
