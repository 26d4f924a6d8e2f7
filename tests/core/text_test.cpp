// SPDX-License-Identifier: Apache-2.0
#include "core/text.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(Text, PrintableIsOneShortLine) {
  EXPECT_EQ(printable("plain ünï"), "plain ünï");
  EXPECT_EQ(printable(std::string_view("a\nb\0c\x7f", 6)), "a\\x0ab\\x00c\\x7f");
  EXPECT_EQ(printable("abcdef", 4), "abcd…");
  EXPECT_EQ(printable("aüb", 2), "a…") << "never half a character";
  EXPECT_EQ(printable("\xbf\xbf\xbf", 2), "…") << "nor lost in broken UTF-8";
  EXPECT_EQ(in_quotes("x\ty"), "'x\\x09y'");
}

TEST(Text, JsonStringsAreEscaped) {
  EXPECT_EQ(json_quoted("a\"b\\c\n\x01 ü"), R"("a\"b\\c\u000a\u0001 ü")");
}

}  // namespace
}  // namespace reprise
