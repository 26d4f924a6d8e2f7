// SPDX-License-Identifier: Apache-2.0
// Host memory for comparing what a step left on the device with what it left before: pinned, so
// that copies run at the speed of the bus, and kept from one comparison to the next.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <reprise/device.h>

namespace reprise {

/// One lane. Where no pinned memory is to be had it works in ordinary memory, only slower.
class ResultStaging {
 public:
  explicit ResultStaging(Device& device) : device_(device) {}

  /// Waits for the stream's work and keeps what `results` hold, instead of what was kept before.
  void keep(std::span<const MemoryView> results, Stream& stream);

  struct Difference {
    std::size_t result = 0;  ///< index
    std::size_t byte = 0;    ///< of that result
  };
  /// Waits likewise; where `results`, as long each as those that were kept, differ first.
  std::optional<Difference> compare(std::span<const MemoryView> results, Stream& stream);

  /// A line for the user, once, if pinned memory was missing; else "".
  std::string take_note();

 private:
  MemoryView memory(Buffer& pinned, std::vector<std::byte>& ordinary, std::size_t bytes);

  Device& device_;
  Buffer kept_;  // pinned; grown to the largest set of results
  Buffer part_;  // pinned; what is compared passes through it in pieces
  std::vector<std::byte> ordinary_kept_;
  std::vector<std::byte> ordinary_part_;
  MemoryView kept_memory_ = {};
  bool missing_ = false;
  bool noted_ = false;
};

}  // namespace reprise
