// SPDX-License-Identifier: Apache-2.0
// Compares a recorded step with its eager twin, bitwise (DESIGN §5).
#pragma once

#include <optional>
#include <string>

#include "graph/state_saver.h"
#include "graph/step_harness.h"

namespace reprise {

/// Runs the step eagerly and by replay from equal inputs and state, outputs and scratch poisoned
/// before each, and compares outputs, state and the inputs that the step writes. Returns what
/// differs first, or nothing. Work that leaked out of the recording, and reads of memory that
/// nothing wrote, show up here. All of its rows count as true ones, since a step may well leave out
/// the others: with a row count of 0 the test would compare nothing. State is restored; the row
/// count stays as it is until the next load(). After a fake recording both are calls of the step: a
/// difference is then a fault of the step alone.
std::optional<std::string> self_test(StepHarness& harness, RecordedStep& recorded,
                                     StateSaver& states);

}  // namespace reprise
