// SPDX-License-Identifier: Apache-2.0
// A second executable of a recording that writes down when each node ended.
#pragma once

#include <cstdint>
#include <vector>

#include <reprise/graph.h>

namespace reprise {

/// Move-only; not thread safe.
class StampedExec {
 public:
  /// `space`: device, or pinned for the stamps of one launch that outlive a fault of the device.
  /// Throws as Device::allocate and Graph::instantiate.
  StampedExec(const Graph& graph, MemorySpace space);

  /// Enqueues one replay. Device stamps of the replay before are gone.
  void launch(Stream& stream);
  /// Waits for the replay. As RecordedGraph::instantiate_stamped() lays them out.
  std::vector<std::uint64_t> stamps(Stream& stream) const;
  /// Without waiting, and without asking the device; of pinned stamps only. 0: not reached.
  std::vector<std::uint64_t> pinned_stamps() const;

 private:
  std::size_t words_;
  Buffer buffer_;
  GraphExec exec_;  // goes before the memory it writes
};

}  // namespace reprise
