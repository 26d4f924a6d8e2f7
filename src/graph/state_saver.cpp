// SPDX-License-Identifier: Apache-2.0
#include "graph/state_saver.h"

#include <exception>

namespace reprise {

StateSaver::StateSaver(StepHarness& harness, Stream& stream) : staging_(harness.device()) {
  const BindingTable& table = harness.table();
  for (std::size_t index = 0; index < table.size(); ++index) {
    if (table[index].binding.kind != BindingKind::state) continue;
    if (table[index].bound.data == nullptr) continue;  // of a variant that nobody has used so far
    if (table[index].moved) continue;                  // of variants that do not run until rebind()
    const TensorView tensor = table.tensor(index, table.max_rows());
    const MemoryView original{tensor.data, tensor.bytes(), MemorySpace::device};
    Buffer copy = harness.device().allocate(original.bytes, "saved " + table[index].binding.name);
    stream.copy(copy.view(), original);
    saved_.push_back({original, std::move(copy)});
  }
}

void StateSaver::restore(Stream& stream) {
  for (const Saved& saved : saved_) stream.copy(saved.original, saved.copy.view());
}

void StateSaver::restore_quietly(Stream& stream) noexcept {
  try {
    restore(stream);
  } catch (const std::exception&) {
    // The device is lost, and its memory with it.
  }
}

}  // namespace reprise
