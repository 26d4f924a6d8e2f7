// SPDX-License-Identifier: Apache-2.0
// Addresses of the process with and without memory behind them, from the system. Counts and limits
// nothing: host/memory.h does.
#pragma once

#include <cstddef>

namespace reprise::host {

/// A processor's large page, and what CUDA devices have: offsets that are right here are right
/// there.
inline constexpr std::size_t kMappingGranularity = std::size_t{2} << 20;

// Sizes are multiples of the granularity and not 0.

/// Addresses that fault when touched, aligned to the granularity. Throws DeviceError.
void* reserve_addresses(std::size_t bytes);
/// With all that lies behind them.
void release_addresses(void* data, std::size_t bytes) noexcept;
/// Fresh memory behind addresses that have none; false where the system gives none, and nothing was
/// changed.
bool commit(void* address, std::size_t bytes) noexcept;
/// Gives the memory back; touching the addresses is a fault again. Throws DeviceError where the
/// system refuses; nothing was changed then, but contents may be lost.
void decommit(void* address, std::size_t bytes);

}  // namespace reprise::host
