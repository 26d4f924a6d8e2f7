// SPDX-License-Identifier: Apache-2.0
// Holds the declarations of a recording's kernels against the graph they became part of. Pure: it
// sees the nodes' facts only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "device/backend.h"

namespace reprise {

/// What is wrong with the launches of a graph: the first fault, naming node, label, range and
/// writer and saying what to do; nothing where all is well. A fault is a kernel behind a
/// programmatic edge, or launched programmatically, that does not declare its wait; and one that
/// reads before its wait what a node of the graph writes.
std::optional<std::string> launch_fault(std::span<const NodeInfo> nodes);

/// The same for a launch outside of recordings, where only the wait can be asked for. Throws
/// UsageError; `call` is how the user spells it.
void require_declared_wait(const LaunchDeclaration& declaration, std::string_view call,
                           std::string_view label, const StreamState& stream);

}  // namespace reprise
