// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kernels/host/reference/reference.h"

namespace reprise::reference {

std::uint32_t xor_words(const void* data, std::size_t bytes) {
  const auto* byte = static_cast<const std::byte*>(data);
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint32_t)) {
    std::uint32_t word = 0;
    std::memcpy(&word, byte + at, std::min(sizeof(word), bytes - at));
    sum ^= word;
  }
  return sum;
}

}  // namespace reprise::reference
