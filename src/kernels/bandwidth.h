// SPDX-License-Identifier: Apache-2.0
// How fast the device reads its own memory: the ceiling of a decode step, which reads every weight
// once.
#pragma once

#include <cstddef>

#include "kernels/ops.h"

namespace reprise {

struct ReadBandwidth {
  double gb_per_s = 0;           ///< 10⁹ bytes per second, of the fastest read
  std::size_t bytes = 0;         ///< of one read
  std::size_t buffer_bytes = 0;  ///< read through from end to end, again and again
  int reads = 0;
};

/// How much a measurement may take.
struct ReadEffort {
  std::size_t most_bytes = std::size_t{1} << 30;  ///< of the buffer; at least 1 MiB
  double enough_ms = 500;                         ///< of reading
};

/// Streams through a buffer far larger than the caches (`most_bytes`, or an eighth of the device's
/// free memory where that is less) for `enough_ms`, at least three times, and reports the
/// fastest read: what others do on the machine meanwhile can only slow a read down. A read is the
/// whole buffer, or on a slow device a piece of it that takes a few milliseconds, so that one of
/// them may find the machine undisturbed. Blocks until the stream's earlier work is done. Throws
/// OutOfMemory. Not inside a recording.
ReadBandwidth measure_read_bandwidth(Ops& ops, Stream& stream, ReadEffort effort = {});

/// The same, the figure alone.
double measure_read_gb_per_s(Ops& ops, Stream& stream);

}  // namespace reprise
