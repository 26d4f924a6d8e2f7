// SPDX-License-Identifier: Apache-2.0
// How a device spreads a kernel: what pictures and tools show of a kernel node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace reprise {

/// A kernel's launch as it was recorded. Devices that run kernels without a grid have none.
struct LaunchGeometry {
  std::array<std::uint32_t, 3> grid{1, 1, 1};     ///< blocks
  std::array<std::uint32_t, 3> block{1, 1, 1};    ///< threads
  std::array<std::uint32_t, 3> cluster{1, 1, 1};  ///< blocks; 1 × 1 × 1: no clusters
  std::size_t dynamic_shared_bytes = 0;           ///< per block, chosen at launch
  std::size_t static_shared_bytes = 0;            ///< per block, the kernel's own; 0 where unknown
  int registers = 0;                              ///< per thread; 0 where unknown

  bool operator==(const LaunchGeometry&) const = default;
};

}  // namespace reprise
