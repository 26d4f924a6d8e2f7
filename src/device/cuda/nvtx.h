// SPDX-License-Identifier: Apache-2.0
// NVTX, the toolkit's header-only way to name ranges for profilers such as Nsight Systems, in the
// domain "reprise". Needs no device. Thread safe.
#pragma once

#include <string>
#include <string_view>

namespace reprise::nvtx {

/// True where a profiler listens. NVTX looks for one once per process, at its first use.
bool attached();

/// A name the profiler keeps for the life of the process; null where none listens.
const void* name(const std::string& text);

/// Opens a range on the calling thread. The first builds no string.
void push(const void* name) noexcept;
void push(std::string_view text);
/// Closes the thread's innermost range.
void pop() noexcept;

}  // namespace reprise::nvtx
