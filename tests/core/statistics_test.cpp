// SPDX-License-Identifier: Apache-2.0
#include "core/statistics.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/error.h>

namespace reprise {
namespace {

std::vector<double> one_to(int last) {
  std::vector<double> values;
  for (int i = last; i >= 1; --i) values.push_back(i);  // not in order
  return values;
}

TEST(Percentile, IsTheNearestRank) {
  const std::vector<double> five{15, 20, 35, 40, 50};
  EXPECT_EQ(percentile(five, 5), 15);
  EXPECT_EQ(percentile(five, 20), 15);
  EXPECT_EQ(percentile(five, 20.1), 20);
  EXPECT_EQ(percentile(five, 30), 20);
  EXPECT_EQ(percentile(five, 40), 20);
  EXPECT_EQ(percentile(five, 50), 35);
  EXPECT_EQ(percentile(five, 100), 50);
}

TEST(Percentile, ExactRanksAreNotRoundedUp) {
  for (const int count : {100, 200, 300, 700, 1000, 10000}) {
    EXPECT_EQ(percentile(one_to(count), 99), count / 100 * 99) << count;
  }
}

TEST(Percentile, OfFewValuesIsTheLargest) {
  EXPECT_EQ(percentile(one_to(1), 99), 1);
  EXPECT_EQ(percentile(one_to(99), 99), 99);
  EXPECT_EQ(percentile(one_to(101), 99), 100);
}

TEST(Percentile, RefusesWhatHasNone) {
  EXPECT_THROW(percentile({}, 50), UsageError);
  EXPECT_THROW(percentile(one_to(3), 0), UsageError);
  EXPECT_THROW(percentile(one_to(3), 100.5), UsageError);
  EXPECT_THROW(percentile(one_to(3), std::nan("")), UsageError);
}

TEST(Median, IsTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(median(one_to(1)), 1);
  EXPECT_EQ(median(one_to(2)), 1.5);
  EXPECT_EQ(median(one_to(5)), 3);
  EXPECT_EQ(median(one_to(6)), 3.5);
  EXPECT_THROW(median({}), UsageError);
}

}  // namespace
}  // namespace reprise
