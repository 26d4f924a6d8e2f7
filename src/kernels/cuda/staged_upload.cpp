// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/staged_upload.h"

#include <algorithm>

namespace reprise::cuda_kernels {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

}  // namespace

StagedUpload::StagedUpload(Device& device)
    : pieces_{{device.allocate_pinned(kPieceBytes, "weight staging"), device.create_event()},
              {device.allocate_pinned(kPieceBytes, "weight staging"), device.create_event()}} {}

void StagedUpload::put(void* target, std::size_t bytes, const Source& source, Stream& stream) {
  for (std::size_t offset = 0; offset < bytes; offset += kPieceBytes) {
    const std::size_t count = std::min(kPieceBytes, bytes - offset);
    Piece& piece = pieces_[next_];
    next_ = 1 - next_;
    piece.free.synchronize();
    source(offset, count, static_cast<std::byte*>(piece.memory.data()));
    stream.copy({static_cast<std::byte*>(target) + offset, count, MemorySpace::device},
                piece.memory.view(0, count));
    stream.record(piece.free);
  }
}

}  // namespace reprise::cuda_kernels
