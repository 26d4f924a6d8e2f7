// SPDX-License-Identifier: Apache-2.0
// Recording work once and replaying it: capture(), Graph (what was recorded), GraphExec (what
// runs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <reprise/device.h>
#include <reprise/error.h>
#include <reprise/launch_geometry.h>

namespace reprise {

class ExecutableGraph;
class RecordedGraph;

/// How a kernel was launched: see <reprise/launch_declaration.h>.
enum class ProgrammaticLaunch : std::uint8_t {
  none,         ///< plainly, as everything that is no kernel
  made,         ///< programmatically
  unsupported,  ///< plainly, because the device has no programmatic launch
};

/// A recorded node, for people and tools.
struct GraphNode {
  std::string kind;                           ///< "kernel", "copy", "fill", …
  std::string label;                          ///< "layer 0 / qkv"; "" where nobody named it
  std::string function;                       ///< the kernel's name
  std::size_t bytes = 0;                      ///< moved by a copy or fill
  std::vector<std::uint32_t> dependencies;    ///< indices of earlier nodes
  std::optional<LaunchGeometry> launch = {};  ///< of a kernel, where the device has grids
  /// Of a "conditional" node, whose function is "while" or "if": the loop's body, or what runs
  /// where the condition holds and then, if there is one, what runs otherwise. Dependencies of a
  /// body's nodes are indices into that body.
  std::vector<std::vector<GraphNode>> bodies = {};
  ProgrammaticLaunch programmatic_launch = ProgrammaticLaunch::none;
  /// Those of `dependencies` whose end the node does not await before it starts.
  std::vector<std::uint32_t> programmatic = {};
};

enum class UpdateResult : std::uint8_t {
  updated,           ///< the executable now runs the new graph
  topology_differs,  ///< nodes or edges differ; the old executable stays valid
  refused,           ///< a node cannot be changed in place; the old executable stays valid
};

class GraphExec;

/// The work a recording holds. Immutable and cheap to copy; thread safe. It holds addresses, not
/// memory: what was recorded must stay allocated until the last launch has run.
class Graph {
 public:
  explicit Graph(std::shared_ptr<Device> device, std::shared_ptr<const RecordedGraph> recorded);

  /// Bodies of conditional nodes do not count.
  std::size_t node_count() const noexcept;
  std::vector<GraphNode> nodes() const;
  /// Hash of kinds, functions, attributes and edges, of bodies as well: equal for graphs whose
  /// executables can be updated into one another. Addresses and labels do not count.
  std::uint64_t signature() const noexcept;
  /// Makes an executable. Throws DeviceError naming the node that the device cannot take, and
  /// UsageError for a second executable of a graph with loops or branches while the first one lives
  /// (CUDA allows one): record such a graph once for each executable.
  GraphExec instantiate() const;

  Device& device() const noexcept { return *device_; }
  const RecordedGraph& recorded() const noexcept { return *recorded_; }

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<const RecordedGraph> recorded_;
  std::uint64_t signature_ = 0;
};

/// An executable graph. Move-only. Its destructor waits for replays in flight, or, while a
/// recording is live on the device, hands the work to the end of that recording; it never throws.
class GraphExec {
 public:
  GraphExec(std::shared_ptr<Device> device, std::shared_ptr<ExecutableGraph> executable,
            std::uint64_t signature);
  ~GraphExec();
  GraphExec(GraphExec&&) noexcept;
  GraphExec& operator=(GraphExec&&) noexcept;

  /// Pays the first launch's set-up ahead of time.
  void upload(Stream& stream);
  /// Enqueues one replay. A replay waits for the one before, also on another stream. Refused with
  /// CaptureError on a stream that records. Allocates nothing.
  void launch(Stream& stream);
  /// Re-points this executable at `graph` where the signatures are equal.
  UpdateResult update(const Graph& graph);

 private:
  void release() noexcept;

  std::shared_ptr<Device> device_;
  std::shared_ptr<ExecutableGraph> executable_;
  std::uint64_t signature_ = 0;
};

/// Records the work that `body` enqueues on `stream`, and on streams that join it by events;
/// nothing of it runs. Calls `body` once, also where something outside the library ends the
/// recording (CaptureFault::invalidated): whether to try again is the caller's to know. Commits
/// when `body` returns. On any exception, of `body` or of the commit, the recording is ended and
/// discarded, its streams are usable again, and the exception goes on. Throws CaptureError for an
/// empty recording, an unjoined stream (by name), a stream that records already, or a call that was
/// refused inside `body` even if `body` swallowed the refusal.
Graph capture(Stream& stream, const std::function<void()>& body);

}  // namespace reprise
