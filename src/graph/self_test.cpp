// SPDX-License-Identifier: Apache-2.0
#include "graph/self_test.h"

#include <functional>
#include <vector>

#include <fmt/format.h>

namespace reprise {
namespace {

bool is_result(const BindingTable::Entry& entry, int variant) {
  const Binding& binding = entry.binding;
  if (!entry.seen_by(variant)) return false;
  return binding.kind == BindingKind::output || binding.kind == BindingKind::state ||
         binding.written_by_step;
}

MemoryView view_of(const TensorView& tensor) {
  return {tensor.data, tensor.bytes(), MemorySpace::device};
}

constexpr std::uint8_t kOutputPoison = 0xC3;

void poison(StepHarness& harness, int rows, std::span<const ScratchRange> scratch,
            std::uint8_t scratch_poison, Stream& stream) {
  const BindingTable& table = harness.table();
  for (std::size_t index = 0; index < table.size(); ++index) {
    if (table[index].binding.kind == BindingKind::output) {
      stream.fill(view_of(table.tensor(index, rows)), kOutputPoison);
    }
  }
  for (const ScratchRange& range : scratch) {
    stream.fill({range.data, range.bytes, MemorySpace::device}, scratch_poison);
  }
}

struct Results {
  std::vector<std::string_view> names;
  std::vector<MemoryView> memory;
};

Results results_of(const BindingTable& table, StepKey key) {
  Results results;
  for (std::size_t index = 0; index < table.size(); ++index) {
    if (!is_result(table[index], key.variant)) continue;
    results.names.push_back(table[index].binding.name);
    results.memory.push_back(view_of(table.tensor(index, key.rows)));
  }
  return results;
}

}  // namespace

std::optional<std::string> self_test(StepHarness& harness, RecordedStep& recorded,
                                     StateSaver& states) {
  const StepKey key = recorded.key;
  const RangeScope range(harness.range_name("self-test", key));
  Stream& stream = harness.lane().stream();
  harness.set_row_count(key.rows);
  // The eager twin's scratch is the recording's: equal requests from an equal state of the pool
  // yield equal addresses.
  const auto run = [&](std::uint8_t pattern, const std::function<void()>& launch) {
    states.restore(stream);
    harness.reload(stream);
    poison(harness, key.rows, recorded.scratch, pattern, stream);
    launch();
  };
  const Results results = results_of(harness.table(), key);
  // Outputs get one pattern, so that bytes a step rightly leaves alone agree; scratch gets two, so
  // that a result which depends on scratch nobody wrote does not.
  run(0x5A, [&] { harness.call(StepPhase::eager, key, stream); });
  states.staging().keep(results.memory, stream);
  if (!recorded.fake()) harness.executables().make_ready_quietly(*recorded.graph, stream);
  run(0xA5, [&] { harness.replay(recorded, stream); });
  const auto difference = states.staging().compare(results.memory, stream);
  states.restore(stream);
  harness.reload(stream);
  if (!difference) return std::nullopt;
  return fmt::format("{} differs from eager: '{}' at byte {} of {}",
                     recorded.fake() ? "fake replay (the step itself, no graph)" : "replay",
                     results.names[difference->result], difference->byte,
                     results.memory[difference->result].bytes);
}

}  // namespace reprise
