// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <reprise/shape.h>

namespace reprise {
namespace {

TEST(Shape, PutsRowsInFront) {
  const Shape row{8, 128};
  EXPECT_EQ(row.with_rows(3), (Shape{3, 8, 128}));
  EXPECT_EQ(row.with_rows(3).elements(), 3 * 8 * 128);
  EXPECT_EQ(to_string(row), "[8, 128]");
}

TEST(Shape, ScalarHasOneElement) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ(Shape{}.with_rows(5), Shape{5});
}

TEST(Shape, RefusesNegativeExtentsAndTooManyOfThem) {
  EXPECT_THROW((Shape{2, -1}), UsageError);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1}), UsageError);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1}.with_rows(2)), UsageError);
}

}  // namespace
}  // namespace reprise
