// SPDX-License-Identifier: Apache-2.0
// One way to break a valid model folder, and what the message about it must name.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "model/support/tiny_model.h"

namespace reprise::test {

struct BadModel {
  std::string name;
  std::function<void(TinyModel&)> damage;
  std::vector<std::string> culprits;  // each must stand in the message
};

inline void PrintTo(const BadModel& bad, std::ostream* out) { *out << bad.name; }

/// Expects that the model opens, and after the damage gives a ModelError of one line that names the
/// file and all culprits.
void expect_refusal(const BadModel& bad);

}  // namespace reprise::test
