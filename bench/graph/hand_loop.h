// SPDX-License-Identifier: Apache-2.0
// What somebody would write without a library: one graph, captured and launched by CUDA's calls.
#pragma once

#include <cstddef>
#include <memory>

namespace reprise::bench_graph {

class HandLoop {
 public:
  virtual ~HandLoop() = default;
  /// One cudaGraphLaunch of the graph of small kernels.
  virtual void launch() = 0;
  /// Copies `bytes` into pinned memory, from there to the device, and launches.
  virtual void launch_with_inputs(const void* inputs, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
};

/// A graph of `nodes` kernels, each of one thread that counts up, and room for inputs of `bytes`.
/// Null on a device that is not CUDA's. Throws std::runtime_error where a call fails.
std::unique_ptr<HandLoop> make_hand_loop(std::size_t nodes, std::size_t bytes);

}  // namespace reprise::bench_graph
