// SPDX-License-Identifier: Apache-2.0
// Loops and branches that the device decides: inside a recording they become conditional nodes of
// the graph, so that one replay runs many steps, or leaves some out, without the host.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <reprise/device.h>

namespace reprise {

struct LoopOptions {
  /// A run of the loop ends after that many iterations at the latest, so that a condition which
  /// never turns 0 does not hold the device for ever; at least 1. A loop that ended so leaves its
  /// condition non-zero: that is how one tells.
  std::uint32_t max_iterations = 1'000'000;
  /// Names the node under the stream's label scopes.
  std::string label = "while_loop";
};

struct BranchOptions {
  std::string label = "if_else";  ///< names the node under the stream's label scopes
};

/// Runs what `body` enqueues on `stream` again and again while `condition` is not 0: read on the
/// device before each iteration, after the work before it. `condition` is one i32 in device memory
/// that outlives the last run; the body, or other work on the device, changes it.
///
/// `body` is called once, before the call returns, and its work is recorded, not run, with the
/// rules of capture(): it may hold copies, fills, kernels, loops and branches, also on streams that
/// join `stream` by events inside the body and are joined back in it. What else is refused there:
///  - other streams of the recording around the loop, and events recorded outside of the body;
///  - an empty body, a stream that is not joined back;
///  - on CUDA, work of raw calls that is no kernel, copy, fill or child graph: host callbacks,
///    event and semaphore nodes, allocations, copies of pageable memory, also in a child graph
///    (CaptureError naming kind, label and remedy, or, where the driver refuses the call itself,
///    DeviceError with its answer and what a body takes). In a body cuda::native(stream) is another
///    handle than outside of it: ask for it there.
/// Any exception, of `body` or of these rules, goes on and spoils the recording around the loop,
/// even if it is swallowed there.
///
/// On a stream that does not record, the loop is recorded as a graph of its own and launched once;
/// the call returns when it has run, and throws what it threw. Memory from a pool that the body
/// takes must be there already (MemoryPool::reserve, or the body's work run once before): in such
/// a call as well, a recording allocates nothing. In a step, take StepContext::scratch() before the
/// loop, not in its body.
///
/// A graph with loops or branches has one executable at a time (UsageError of Graph::instantiate
/// and of GraphExec::update). Loops and branches nest as deep as the driver allows. Throws
/// UsageError for a condition that is not one i32 in device memory, and DeviceError where the
/// driver is older than CUDA 12.4.
void while_loop(Stream& stream, const TensorView& condition, const std::function<void()>& body,
                const LoopOptions& options = {});

/// Runs what `then` enqueues if `condition` is not 0 when the stream's work gets there, otherwise
/// what `otherwise` enqueues (nothing where it is empty). Both are recorded; all else is as in
/// while_loop(). With `otherwise`, CUDA's driver must be 12.8 or newer.
void if_else(Stream& stream, const TensorView& condition, const std::function<void()>& then,
             const std::function<void()>& otherwise = {}, const BranchOptions& options = {});

}  // namespace reprise
