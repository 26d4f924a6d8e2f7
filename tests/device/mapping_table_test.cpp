// SPDX-License-Identifier: Apache-2.0
#include "device/mapping_table.h"

#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace reprise {
namespace {

MappingTable table_of(const std::vector<Mapping>& mappings) {
  MappingTable table;
  for (const Mapping& mapping : mappings) table.add(mapping);
  return table;
}

TEST(MappingTable, AnEmptyOneHasNothingButAGap) {
  const MappingTable table;
  EXPECT_EQ(table.mapped_bytes(), 0u);
  EXPECT_EQ(table.first_overlap({0, 10}), std::nullopt);
  EXPECT_EQ(table.first_cut({0, 10}), std::nullopt);
  EXPECT_EQ(table.first_gap({3, 10}), (Mapping{3, 10}));
  EXPECT_TRUE(table.inside({0, 10}).empty());
}

TEST(MappingTable, FindsTheFirstGap) {
  const MappingTable table = table_of({{10, 5}, {15, 5}, {30, 10}});
  EXPECT_EQ(table.first_gap({10, 10}), std::nullopt);  // two mappings side by side
  EXPECT_EQ(table.first_gap({12, 6}), std::nullopt);
  EXPECT_EQ(table.first_gap({12, 30}), (Mapping{20, 10}));
  EXPECT_EQ(table.first_gap({12, 10}), (Mapping{20, 2}));
  EXPECT_EQ(table.first_gap({35, 10}), (Mapping{40, 5}));
  EXPECT_EQ(table.first_gap({5, 50}), (Mapping{5, 5}));
}

TEST(MappingTable, FindsWhatIsCut) {
  const MappingTable table = table_of({{10, 5}, {15, 5}, {30, 10}});
  EXPECT_EQ(table.first_cut({10, 10}), std::nullopt);
  EXPECT_EQ(table.first_cut({11, 9}), (Mapping{10, 5}));
  EXPECT_EQ(table.first_cut({10, 9}), (Mapping{15, 5}));
  EXPECT_EQ(table.first_cut({32, 2}), (Mapping{30, 10}));
  EXPECT_EQ(table.first_cut({20, 20}), std::nullopt);
}

// Against one flag per byte.
TEST(MappingTable, AgreesWithAByteMap) {
  constexpr std::size_t kBytes = 24;
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return random() % n; };
  MappingTable table;
  std::array<int, kBytes> owner{};  // 0: unmapped
  std::vector<Mapping> known;
  for (int round = 1; round <= 4000; ++round) {
    const std::size_t offset = below(kBytes);
    const Mapping part{offset, 1 + below(kBytes - offset)};
    bool overlap = false;
    bool gap = false;
    std::size_t mapped = 0;
    for (std::size_t i = 0; i < kBytes; ++i) mapped += owner[i] != 0 ? 1 : 0;
    for (std::size_t i = part.offset; i < part.end(); ++i) {
      (owner[i] != 0 ? overlap : gap) = true;
    }
    ASSERT_EQ(table.mapped_bytes(), mapped);
    ASSERT_EQ(table.first_overlap(part).has_value(), overlap);
    ASSERT_EQ(table.first_gap(part).has_value(), gap);
    const auto border = [&](std::size_t at) {  // a mapping reaches over it
      return at > 0 && at < kBytes && owner[at] != 0 && owner[at] == owner[at - 1];
    };
    ASSERT_EQ(table.first_cut(part).has_value(), border(part.offset) || border(part.end()));
    if (!overlap) {
      table.add(part);
      for (std::size_t i = part.offset; i < part.end(); ++i) owner[i] = round;
    } else if (!table.first_cut(part)) {
      for (const Mapping& mapping : table.inside(part)) {
        table.remove(mapping);
        for (std::size_t i = mapping.offset; i < mapping.end(); ++i) {
          ASSERT_NE(owner[i], 0);
          owner[i] = 0;
        }
      }
      ASSERT_EQ(table.first_overlap(part), std::nullopt);
    }
  }
}

}  // namespace
}  // namespace reprise
