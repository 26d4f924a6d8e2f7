// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/merge_table.h"

#include <bit>

namespace reprise::tokenizer {

MergeTable::MergeTable(std::size_t merges)
    : slots_(std::bit_ceil(merges * 2 + 1)), mask_(slots_.size() - 1) {}

void MergeTable::add(std::int32_t left, std::int32_t right, Merge merge) {
  const std::uint64_t pair = key(left, right);
  slots_[place(pair)] = {pair, merge};
}

}  // namespace reprise::tokenizer
