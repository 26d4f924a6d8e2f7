// SPDX-License-Identifier: Apache-2.0
// Compares a recorded step with its eager twin, bitwise (DESIGN §5).
#pragma once

#include <optional>
#include <string>

#include "graph/state_saver.h"
#include "graph/step_harness.h"

namespace reprise {

/// Runs the step eagerly and by replay from equal inputs and state, outputs and scratch poisoned
/// before each, and compares outputs and state. Returns what differs first, or nothing. Work that
/// leaked out of the recording, and reads of memory that nothing wrote, show up here. State is
/// restored.
std::optional<std::string> self_test(StepHarness& harness, RecordedStep& recorded, int rows,
                                     StateSaver& states);

}  // namespace reprise
