// SPDX-License-Identifier: Apache-2.0
// One allocation of a SleepableMemory.
#pragma once

#include <atomic>
#include <cstddef>

#include <reprise/address_range.h>
#include <reprise/sleepable_memory.h>

namespace reprise {

struct SleepableAllocation {
  AddressRange range;
  SleepClass kind = SleepClass::discard;
  ReloadFunction reload = nullptr;
  std::atomic<std::size_t> bytes{0};  ///< from the range's start: mapped while awake
  Buffer saved = {};                  ///< pinned; empty unless it holds contents

  /// All of it, in one piece.
  void map() { range.map(0, bytes); }
  /// What is still mapped of it, which after a fault may be less than all; returns the bytes.
  std::size_t give_back();
  MemoryView view() const { return range.view(0, bytes); }
};

}  // namespace reprise
