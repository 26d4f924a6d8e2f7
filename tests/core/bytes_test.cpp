// SPDX-License-Identifier: Apache-2.0
#include "core/bytes.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(FormatBytes, TakesTheLargestUnit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(3 << 20), "3.0 MiB");
  EXPECT_EQ(format_bytes((std::size_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(std::size_t{85} << 30), "85.0 GiB");
  EXPECT_EQ(format_bytes(~std::size_t{0}), "16.0 EiB");
}

}  // namespace
}  // namespace reprise
