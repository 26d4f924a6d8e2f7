// SPDX-License-Identifier: Apache-2.0
// memory_summary(): rows and columns as readers of PyTorch's memory summary know them.
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <reprise/memory_pool.h>

#include "core/bytes.h"

namespace reprise {
namespace {

constexpr int kWidth = 75;         // between the outer bars
constexpr std::size_t kName = 40;  // longest name shown whole

/// The table has a fixed width, so a long name is cut, at a whole character.
std::string shortened(std::string_view name) {
  if (name.size() <= kName) return std::string(name);
  std::size_t end = kName - 3;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return std::string(name.substr(0, end)) + "...";
}

class Table {
 public:
  void rule(char line) { append("|{}|", std::string(kWidth, line)); }
  void heading(const std::string& text) { append("|{:^{}}|", text, kWidth); }
  void row(std::string_view name, std::string_view current, std::string_view peak,
           std::string_view allocated, std::string_view freed) {
    append("| {:<21} | {:>10} | {:>10} | {:>10} | {:>10} |", name, current, peak, allocated, freed);
  }
  void bytes(std::string_view name, const MemoryCounter& counter) {
    row(name, format_bytes(counter.current), format_bytes(counter.peak),
        format_bytes(counter.allocated), format_bytes(counter.freed));
  }
  void number(std::string_view name, const MemoryCounter& counter) {
    row(name, std::to_string(counter.current), std::to_string(counter.peak),
        std::to_string(counter.allocated), std::to_string(counter.freed));
  }
  std::string take() { return std::move(text_); }

 private:
  template <class... Arguments>
  void append(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }

  std::string text_;
};

}  // namespace

std::string memory_summary(const MemoryPool& pool) {
  const MemoryStatistics now = pool.statistics();
  Table table;
  table.rule('=');
  table.heading(
      fmt::format("Memory pool '{}' on {}", shortened(pool.name()), pool.device().label()));
  table.heading(fmt::format("OOMs: {}   Retries: {}   Fragmentation: {:.1f} %", now.num_ooms,
                            now.num_alloc_retries, 100 * now.fragmentation()));
  table.rule('=');
  table.row("Metric", "Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed");
  table.rule('-');
  table.bytes("Allocated memory", now.allocated_bytes);
  table.bytes("Requested memory", now.requested_bytes);
  table.bytes("Reserved memory", now.reserved_bytes);
  table.bytes("Non-releasable memory", now.inactive_split_bytes);
  table.rule('-');
  table.number("Allocations", now.allocation);
  table.number("Reserved segments", now.segment);
  table.number("Non-releasable allocs", now.inactive_split);
  table.row("Device calls", "", "", std::to_string(now.num_device_alloc),
            std::to_string(now.num_device_free));
  table.rule('=');
  return table.take();
}

}  // namespace reprise
