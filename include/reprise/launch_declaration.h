// SPDX-License-Identifier: Apache-2.0
// What a kernel says about how it keeps to its place in the order of work. A kernel that is
// launched programmatically (programmatic dependent launch) may start while the kernel before it on
// the stream still runs, and has to wait for it by itself. CUDA cannot see whether it does; so it
// is declared here, and held against the rest of the graph when a recording ends (docs/guide/
// programmatic-launch.md). Declarations are taken by host::enqueue, cuda::note_work, cuda::enqueue
// and cuda::launch.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace reprise {

/// Device memory that a declaration speaks of. `label` names it in messages.
struct DeclaredRange {
  const void* data = nullptr;
  std::size_t bytes = 0;
  std::string_view label = {};
};

/// The default is a plain launch, which starts when all work before it is done. The spans are read
/// during the call that takes the declaration, and only there.
struct LaunchDeclaration {
  /// Launched programmatically: it may start before the kernel before it has ended. Takes effect
  /// where that is a kernel of the same stream; everything else is waited for as ever. On a device
  /// without programmatic launch it is a plain launch, which graphs show.
  bool programmatic = false;
  /// The kernel waits for the kernels before it (griddepcontrol.wait, also spelt
  /// cudaGridDependencySynchronize()) on every path: no thread reads what they may write, or writes
  /// at all, ahead of its wait, and no block ends without one. A programmatic launch has to declare
  /// it, even where nothing of theirs is touched: a kernel that ends without having waited counts
  /// as done for the one behind it while the one in front still runs.
  bool waits = false;
  /// It lets the next kernel start before it ends (griddepcontrol.launch_dependents). Without that
  /// a programmatic launch gains little: what is overlapped is the launch itself.
  bool triggers_early = false;
  /// What it reads before it waits. No node of the same graph may write there.
  std::span<const DeclaredRange> prefetches = {};
  /// What it writes, as far as it can be told: it is held against the prefetches of all kernels of
  /// the graph. Copies and fills need no declaration, but for those in a child graph, which is not
  /// looked into.
  std::span<const DeclaredRange> writes = {};
};

}  // namespace reprise
