// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/support/golden_checks.h"
#include "support/golden.h"

namespace reprise::test {
namespace {

TEST(CudaStories, GiveThePublishedTextRecordedAndEager) {
  const auto folder = stories_folder();
  if (!folder) GTEST_SKIP() << "stories260K is not present";
  expect_published_story(*folder, "cuda");
}

}  // namespace
}  // namespace reprise::test
