// SPDX-License-Identifier: Apache-2.0
// Which two neighbouring symbols merge, into what, and how early. Open addressing: this lookup is
// where encoding spends its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reprise::tokenizer {

struct Merge {
  std::uint32_t rank;
  std::int32_t result;
};

class MergeTable {
 public:
  /// Room for `merges` pairs, which is all it can ever take.
  explicit MergeTable(std::size_t merges = 0);

  /// A pair given twice keeps the later merge. Symbols are not negative.
  void add(std::int32_t left, std::int32_t right, Merge merge);

  /// Null where the two do not merge.
  const Merge* find(std::int32_t left, std::int32_t right) const noexcept {
    const Slot& slot = slots_[place(key(left, right))];
    return slot.key == kEmpty ? nullptr : &slot.merge;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge{};
  };

  static std::uint64_t key(std::int32_t left, std::int32_t right) noexcept {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
           static_cast<std::uint32_t>(right);
  }
  /// Slot of the key, or the empty one where it would go. At least half of the slots are empty.
  std::size_t place(std::uint64_t key) const noexcept {
    std::uint64_t hash = key * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
    std::size_t at = static_cast<std::size_t>(hash) & mask_;
    while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & mask_;
    return at;
  }

  std::vector<Slot> slots_;
  std::size_t mask_;
};

}  // namespace reprise::tokenizer
