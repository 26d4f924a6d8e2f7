// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/memory_budget.h>

#include "core/bytes.h"

namespace reprise {

MemoryBudget make_budget(const MemoryInfo& now, const MemoryUse& use, std::size_t margin) {
  const std::size_t in_use = now.total - now.free;
  const std::size_t known = use.weights + use.pool + use.workspaces + use.executables + use.kv;
  if (known > in_use) {
    throw UsageError(fmt::format(
        "the budget's rows make {}, but the device says that {} are in use; a row was counted "
        "twice, or counts memory that is asleep or lies on the host",
        format_bytes(known), format_bytes(in_use)));
  }
  const std::size_t kept = std::min(margin, now.free);
  return {.context_and_modules = in_use - known,
          .use = use,
          .margin = kept,
          .free = now.free - kept,
          .total = now.total};
}

std::size_t mappable_bytes(const MemoryInfo& now, std::size_t margin,
                           std::size_t granularity) noexcept {
  return now.free <= margin ? 0 : (now.free - margin) / granularity * granularity;
}

}  // namespace reprise
