// SPDX-License-Identifier: Apache-2.0
// What the device can do at best, measured through the seam that decoding uses: reading and copying
// its memory, and the price of launching work.
#pragma once

#include <cstddef>
#include <vector>

#include <reprise/device.h>

#include "kernels/bandwidth.h"
#include "kernels/ops.h"

namespace reprise {

struct DeviceSpeed {
  ReadBandwidth read;
  double copy_gb_per_s = 0;    ///< device to device; bytes read and bytes written both count
  std::size_t copy_bytes = 0;  ///< moved by one copy
  int copies = 0;              ///< the fastest of so many counts

  double eager_launch_us = 0;  ///< host time of enqueueing the smallest kernel

  struct GraphLaunch {
    std::size_t nodes = 0;  ///< smallest kernels, one after the other
    double host_us = 0;     ///< of one launch
    double device_us = 0;   ///< between events round one launch, the one before still running
  };
  std::vector<GraphLaunch> graphs;  ///< of 1, 64 and 320 nodes
  double node_us = 0;               ///< device_us per node of the largest of them

  double pinned_copy_us = 0;          ///< host time of enqueueing a copy from pinned memory
  std::size_t pinned_copy_bytes = 0;  ///< of that copy
};

/// Takes a second or less; `stream` is idle before and after. Launch costs are medians, host times
/// per call of several in a row on an idle stream. Throws OutOfMemory, and DeviceError where not
/// every launch did its work. Not inside a recording.
DeviceSpeed measure_device_speed(Ops& ops, Stream& stream);

}  // namespace reprise
