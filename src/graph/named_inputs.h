// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

#include <fmt/format.h>

#include <reprise/step.h>

#include "graph/binding_table.h"

namespace reprise {

/// Inputs by name turned into inputs by slot, without heap memory.
class ResolvedInputs {
 public:
  static constexpr std::size_t kMost = 64;

  ResolvedInputs(const BindingTable& table, std::initializer_list<NamedInput> inputs) {
    if (inputs.size() > kMost) {
      throw UsageError(fmt::format("at most {} inputs by name, got {}", kMost, inputs.size()));
    }
    for (const NamedInput& input : inputs) {
      resolved_[count_++] = {table.slot(input.name), input.value};
    }
  }
  std::span<const Input> span() const noexcept { return {resolved_.data(), count_}; }

 private:
  std::array<Input, kMost> resolved_;
  std::size_t count_ = 0;
};

}  // namespace reprise
