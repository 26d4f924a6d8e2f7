// SPDX-License-Identifier: Apache-2.0
// Where a device's memory went, and how much of it a cache may still have (DESIGN §6, S13): reserve
// addresses for the most there could ever be, record against them, measure what is left, and map
// that much (SleepableBuffer::extend, AddressRange::map) without recording again.
#pragma once

#include <cstddef>
#include <string>

#include <reprise/device.h>

namespace reprise {

/// What a program knows that it holds on the device, in bytes.
struct MemoryUse {
  std::size_t weights = 0;
  std::size_t pool = 0;         ///< MemoryStatistics::reserved_bytes
  std::size_t workspaces = 0;   ///< of libraries; static inputs and outputs
  std::size_t executables = 0;  ///< RecordReport::executable_bytes
  std::size_t kv = 0;           ///< mapped for the cache
};

/// Every byte of the device in one row. The rows add up to `total`, which is what the device
/// reports.
struct MemoryBudget {
  /// In use, and none of the rows below: the driver's context, code, what it keeps for reuse, and
  /// what other processes hold on the device.
  std::size_t context_and_modules = 0;
  MemoryUse use;
  std::size_t margin = 0;  ///< free, and to stay so
  std::size_t free = 0;    ///< free beyond the margin
  std::size_t total = 0;
};

/// `now` is Device::memory_info(). A margin above what is free shows as what is free. Throws
/// UsageError where `use` is more than the device says is in use: something was counted twice.
MemoryBudget make_budget(const MemoryInfo& now, const MemoryUse& use, std::size_t margin);

/// The most that may still be mapped in pieces of `granularity` bytes if `margin` is to stay free.
std::size_t mappable_bytes(const MemoryInfo& now, std::size_t margin,
                           std::size_t granularity) noexcept;

/// The rows with their bytes and shares as a table of fixed width (diag/).
std::string budget_table(const MemoryBudget& budget);
/// {"context_and_modules": bytes, "weights", "pool", "workspaces", "executables", "kv", "margin",
/// "free", "total"}: integers.
std::string budget_json(const MemoryBudget& budget);

}  // namespace reprise
