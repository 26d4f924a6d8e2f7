// SPDX-License-Identifier: Apache-2.0
#include "graph/self_test.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <fmt/format.h>

namespace reprise {
namespace {

struct Snapshot {
  std::string name;
  std::vector<std::byte> bytes;
};

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

std::vector<Snapshot> results(StepHarness& harness, StepKey key, Stream& stream) {
  const BindingTable& table = harness.table();
  std::vector<Snapshot> snapshots;
  for (std::size_t index = 0; index < table.size(); ++index) {
    if (!is_result(table[index], key.variant)) continue;
    const TensorView tensor = table.tensor(index, key.rows);
    Snapshot snapshot{table[index].binding.name, std::vector<std::byte>(tensor.bytes())};
    stream.copy(pageable(std::span(snapshot.bytes)), view_of(tensor));
    snapshots.push_back(std::move(snapshot));
  }
  return snapshots;
}

std::optional<std::string> difference(const std::vector<Snapshot>& eager,
                                      const std::vector<Snapshot>& replay, std::string_view what) {
  for (std::size_t i = 0; i < eager.size(); ++i) {
    const auto [first, second] =
        std::mismatch(eager[i].bytes.begin(), eager[i].bytes.end(), replay[i].bytes.begin());
    if (first != eager[i].bytes.end()) {
      return fmt::format("{} differs from eager: '{}' at byte {} of {}", what, eager[i].name,
                         first - eager[i].bytes.begin(), eager[i].bytes.size());
    }
  }
  return std::nullopt;
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
    return results(harness, key, stream);
  };
  // Outputs get one pattern, so that bytes a step rightly leaves alone agree; scratch gets two, so
  // that a result which depends on scratch nobody wrote does not.
  const auto eager = run(0x5A, [&] { harness.call(StepPhase::eager, key, stream); });
  if (!recorded.fake()) harness.executables().make_ready_quietly(*recorded.graph, stream);
  const auto replay = run(0xA5, [&] { harness.replay(recorded, stream); });
  states.restore(stream);
  harness.reload(stream);
  return difference(eager, replay,
                    recorded.fake() ? "fake replay (the step itself, no graph)" : "replay");
}

}  // namespace reprise
