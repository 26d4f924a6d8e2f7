// SPDX-License-Identifier: Apache-2.0
// A replay that says where it failed. A graph hides its launches: an illegal address inside a
// replay is reported by whichever call comes next, without a kernel's name.
#pragma once

#include <reprise/graph.h>

namespace reprise {

/// Replays `graph` on `stream` once and waits. Does what a launch of it does, and notes behind each
/// node, in pinned memory, which outlives the device, that it has ended. Where the replay fails,
/// throws DeviceError with the fault and the node: the one that had begun and not ended, by number,
/// kind, label and function. Where several could run side by side, all that may have been running
/// are named. A fault that CUDA reports is final for the process, so find it by running again so:
/// by this call, or with RecordMode::debug in runner or pool. A fault that hits another node's
/// memory without a complaint of the device is not seen; a device's own checker (compute-sanitizer)
/// sees those. Makes an executable each time. Throws CaptureError while the stream or the calling
/// thread records, and DeviceError where the graph cannot be stamped (measure_timeline() in
/// <reprise/timeline.h> says which).
void debug_replay(const Graph& graph, Stream& stream);

}  // namespace reprise
