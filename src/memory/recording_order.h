// SPDX-License-Identifier: Apache-2.0
// What may be reused when. All work on a pool is ordered on one lane (DESIGN §5), so a block given
// back may be handed out at once, inside a recording too. What a recording adds:
//  - a recorded graph replays in the memory that it was recorded with, long after the blocks were
//    given back. A segment that any recording has used therefore never returns to the upstream
//    before the pool itself goes;
//  - memory cannot be taken from the upstream inside a recording, so growing is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "memory/block.h"

namespace reprise {

/// The recording of the calling thread, as a pool needs to know it.
struct RecordingSite {
  std::uint64_t id = 0;
  std::string stream;  ///< name of the stream it began on
};

/// To be called when a block is handed out or given back; `site` is null outside a recording.
inline void note_use(Segment& segment, const RecordingSite* site) noexcept {
  if (site != nullptr) segment.recorded = true;
}

inline bool may_return_to_upstream(const Segment& segment) noexcept {
  return segment.wholly_free() && !segment.recorded;
}

/// Throws CaptureError{refused} that names the pool, the missing bytes and the fix.
[[noreturn]] void refuse_growth(std::string_view pool, std::size_t block_bytes,
                                std::string_view label, const RecordingSite& site);

}  // namespace reprise
