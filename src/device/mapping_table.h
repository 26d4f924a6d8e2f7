// SPDX-License-Identifier: Apache-2.0
// Which parts of an address range have memory behind them. Pure bookkeeping in offsets; knows no
// device. Not thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace reprise {

/// What one map() call mapped: [offset, offset + bytes). Never empty.
struct Mapping {
  std::size_t offset = 0;
  std::size_t bytes = 0;

  std::size_t end() const noexcept { return offset + bytes; }
  friend bool operator==(const Mapping&, const Mapping&) = default;
};

class MappingTable {
 public:
  std::size_t mapped_bytes() const noexcept { return mapped_bytes_; }
  /// Their sizes by their offsets.
  const std::map<std::size_t, std::size_t>& all() const noexcept { return mappings_; }

  /// The first mapping that shares a byte with `part`.
  std::optional<Mapping> first_overlap(const Mapping& part) const;
  /// The first stretch of `part` that no mapping covers.
  std::optional<Mapping> first_gap(const Mapping& part) const;
  /// The first mapping that lies in `part` with some of its bytes but not with all.
  std::optional<Mapping> first_cut(const Mapping& part) const;
  /// The mappings that lie in `part` with all of their bytes, ascending.
  std::vector<Mapping> inside(const Mapping& part) const;

  /// `mapping` must overlap none. Where it throws (no memory), nothing was changed.
  void add(const Mapping& mapping);
  /// `mapping` must be one that was added.
  void remove(const Mapping& mapping) noexcept;

 private:
  using Bytes = std::map<std::size_t, std::size_t>;  // by offset

  /// The first mapping that ends behind `offset`.
  Bytes::const_iterator reaching(std::size_t offset) const;

  Bytes mappings_;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace reprise
