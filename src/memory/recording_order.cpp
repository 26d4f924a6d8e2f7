// SPDX-License-Identifier: Apache-2.0
#include "memory/recording_order.h"

#include <fmt/core.h>

#include <reprise/error.h>

#include "core/bytes.h"

namespace reprise {

void refuse_growth(std::string_view pool, std::size_t block_bytes, std::string_view label,
                   const RecordingSite& site) {
  const std::string owner = label.empty() ? "" : fmt::format(" for '{}'", label);
  throw CaptureError(
      CaptureFault::refused,
      fmt::format("pool '{}' must grow by {}{} inside recording {} on stream '{}'; run the step "
                  "once before recording it (warm up) or call reserve({}) before",
                  pool, format_bytes(block_bytes), owner, site.id, site.stream, block_bytes));
}

}  // namespace reprise
