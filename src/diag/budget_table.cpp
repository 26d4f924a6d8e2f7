// SPDX-License-Identifier: Apache-2.0
// budget_table() and budget_json(): the rows of a budget to read.
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <reprise/memory_budget.h>

#include "core/bytes.h"

namespace reprise {
namespace {

struct Row {
  std::string_view key;
  std::string_view name;
  std::size_t bytes;
};

std::array<Row, 8> rows_of(const MemoryBudget& budget) {
  return {{{"context_and_modules", "context and modules", budget.context_and_modules},
           {"weights", "weights", budget.use.weights},
           {"pool", "pool", budget.use.pool},
           {"workspaces", "workspaces", budget.use.workspaces},
           {"executables", "executables", budget.use.executables},
           {"kv", "KV", budget.use.kv},
           {"margin", "margin", budget.margin},
           {"free", "free", budget.free}}};
}

}  // namespace

std::string budget_table(const MemoryBudget& budget) {
  std::string text;
  const auto line = [&](std::string_view name, std::size_t bytes) {
    const double share = budget.total == 0
                             ? 0
                             : 100 * static_cast<double>(bytes) / static_cast<double>(budget.total);
    fmt::format_to(std::back_inserter(text), "{:<19} {:>10} {:>7.2f} %\n", name,
                   format_bytes(bytes), share);
  };
  for (const Row& row : rows_of(budget)) line(row.name, row.bytes);
  text += std::string(40, '-') + "\n";
  line("total", budget.total);
  return text;
}

std::string budget_json(const MemoryBudget& budget) {
  std::string text = "{";
  for (const Row& row : rows_of(budget)) text += fmt::format("\"{}\": {}, ", row.key, row.bytes);
  return text + fmt::format("\"total\": {}}}", budget.total);
}

}  // namespace reprise
