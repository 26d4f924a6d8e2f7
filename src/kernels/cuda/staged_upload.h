// SPDX-License-Identifier: Apache-2.0
// Brings host data to the device through two pinned pieces, so that one is filled while the other
// travels.
#pragma once

#include <cstddef>
#include <functional>

#include <reprise/device.h>

namespace reprise::cuda_kernels {

/// Not thread safe: one upload at a time.
class StagedUpload {
 public:
  /// Writes bytes [offset, offset + count) of the data to `to`.
  using Source = std::function<void(std::size_t offset, std::size_t count, std::byte* to)>;

  /// Allocates the pinned pieces.
  explicit StagedUpload(Device& device);
  /// Enqueues the copy of `bytes` bytes to `target`; `source` is done with when this returns. Asked
  /// for pieces that begin at multiples of 4.
  void put(void* target, std::size_t bytes, const Source& source, Stream& stream);

 private:
  struct Piece {
    Buffer memory;
    Event free;  ///< reached when the last copy from it is over
  };
  Piece pieces_[2];
  int next_ = 0;
};

}  // namespace reprise::cuda_kernels
