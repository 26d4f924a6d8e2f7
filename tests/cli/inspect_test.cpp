// SPDX-License-Identifier: Apache-2.0
// `reprise inspect` in the formats for other programs: that the right one comes, whole, and alone.
// What stands in it is for tests/diag.
#include <string>

#include <gtest/gtest.h>

#include "cli/support/program.h"

namespace reprise::test {
namespace {

struct Format {
  std::string name;
  std::string beginning;
  std::string end;
};

class InspectFormats : public testing::TestWithParam<Format> {};

TEST_P(InspectFormats, ComeWholeAndNameTheStep) {
  const Ran ran = run_program(
      {"inspect", demo_folder(), "--batch", "3", "--device", "host", "--format", GetParam().name});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(ran.out.starts_with(GetParam().beginning)) << ran.out.substr(0, 80);
  EXPECT_TRUE(ran.out.ends_with(GetParam().end)) << ran.out.substr(ran.out.size() - 80);
  for (const std::string part : {"models/demo", "layer 0", "matmul", "select"}) {
    EXPECT_NE(ran.out.find(part), std::string::npos) << part;
  }
}

INSTANTIATE_TEST_SUITE_P(All, InspectFormats,
                         testing::Values(Format{"dot", "digraph ", "}\n"},
                                         Format{"svg", "<svg ", "</svg>\n"},
                                         Format{"html", "<!DOCTYPE html>", "</html>\n"}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace reprise::test
