// SPDX-License-Identifier: Apache-2.0
#include "device/mapping_table.h"

#include <algorithm>
#include <iterator>

namespace reprise {

MappingTable::Bytes::const_iterator MappingTable::reaching(std::size_t offset) const {
  auto next = mappings_.upper_bound(offset);
  if (next == mappings_.begin()) return next;
  const auto before = std::prev(next);
  return before->first + before->second > offset ? before : next;
}

std::optional<Mapping> MappingTable::first_overlap(const Mapping& part) const {
  const auto found = reaching(part.offset);
  if (found == mappings_.end() || found->first >= part.end()) return std::nullopt;
  return Mapping{found->first, found->second};
}

std::optional<Mapping> MappingTable::first_gap(const Mapping& part) const {
  std::size_t reached = part.offset;
  for (auto at = reaching(part.offset); reached < part.end(); ++at) {
    if (at == mappings_.end() || at->first > reached) {
      const std::size_t end = at == mappings_.end() ? part.end() : std::min(at->first, part.end());
      return Mapping{reached, end - reached};
    }
    reached = at->first + at->second;
  }
  return std::nullopt;
}

std::optional<Mapping> MappingTable::first_cut(const Mapping& part) const {
  for (auto at = reaching(part.offset); at != mappings_.end() && at->first < part.end(); ++at) {
    const Mapping mapping{at->first, at->second};
    if (mapping.offset < part.offset || mapping.end() > part.end()) return mapping;
  }
  return std::nullopt;
}

std::vector<Mapping> MappingTable::inside(const Mapping& part) const {
  std::vector<Mapping> found;
  for (auto at = mappings_.lower_bound(part.offset); at != mappings_.end(); ++at) {
    const Mapping mapping{at->first, at->second};
    if (mapping.end() > part.end()) break;
    found.push_back(mapping);
  }
  return found;
}

void MappingTable::add(const Mapping& mapping) {
  mappings_.emplace(mapping.offset, mapping.bytes);
  mapped_bytes_ += mapping.bytes;
}

void MappingTable::remove(const Mapping& mapping) noexcept {
  mapped_bytes_ -= mapping.bytes;
  mappings_.erase(mapping.offset);
}

}  // namespace reprise
