// SPDX-License-Identifier: Apache-2.0
// `reprise inspect` in the formats for other programs: that the right one comes, whole, and alone.
// What stands in it is for tests/diag.
#include <string>
#include <utility>
#include <vector>

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

Ran timed(const std::string& format) {
  return run_program({"inspect", demo_folder(), "--batch", "2", "--device", "host", "--times", "3",
                      "--format", format});
}

TEST(InspectTimes, AreInEachFormat) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> formats{
      {"text", {"3 replays", "layer * / ", "critical path"}},
      {"json", {"\"timeline\"", "\"interval_us\"", "\"microseconds\""}},
      {"dot", {" µs"}},
      {"svg", {"class=\"time\"", "medians of 3 replays"}},
      {"html", {"\"microseconds\":", "medians of 3 replays"}},
      {"trace", {"\"traceEvents\"", "\"thread_name\"", "layer 0 / "}},
  };
  for (const auto& [format, parts] : formats) {
    const Ran ran = timed(format);
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    for (const std::string& part : parts) {
      EXPECT_NE(ran.out.find(part), std::string::npos) << format << ": " << part;
    }
  }
}

TEST(InspectTimes, ATraceNeedsThem) {
  expect_refusal(run_program({"inspect", demo_folder(), "--format", "trace"}), 2, "--times");
  expect_refusal(run_program({"inspect", demo_folder(), "--times", "0"}), 2, "--times");
}

}  // namespace
}  // namespace reprise::test
