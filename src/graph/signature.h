// SPDX-License-Identifier: Apache-2.0
// Our own structural signature of a recorded graph (DESIGN §4.9).
#pragma once

#include <cstdint>
#include <span>

#include "device/backend.h"

namespace reprise {

/// Hash of kinds, functions, attributes and edges. Labels, addresses and sizes do not count.
std::uint64_t structural_signature(std::span<const NodeInfo> nodes) noexcept;

/// Whether a loop or a branch is among `nodes`: the graph then has one executable at a time.
bool has_conditional(std::span<const NodeInfo> nodes) noexcept;

}  // namespace reprise
