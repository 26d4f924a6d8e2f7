// SPDX-License-Identifier: Apache-2.0
// Foreign text as text and nothing else.
#include "diag/markup.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(Markup, PlainTextSpellsOutWhatCannotBeSeen) {
  EXPECT_EQ(plain_text("layer 0 / größe 层"), "layer 0 / größe 层");
  EXPECT_EQ(plain_text("a\nb\x1b\x7f"), "a\\x0ab\\x1b\\x7f");
  EXPECT_EQ(plain_text("\xc2\x85"), "\\x85");
  EXPECT_EQ(plain_text("a\xe2\x80\xae"), "a\\u202e");
  EXPECT_EQ(plain_text("a\xe2\x80\xa8"), "a\\u2028");
}

TEST(Markup, PlainTextIsUtf8) {
  constexpr std::string_view kMark = "\xef\xbf\xbd";
  EXPECT_EQ(plain_text("\xff"), kMark);
  EXPECT_EQ(plain_text("\xc3("), std::string(kMark) + "(");
  EXPECT_EQ(plain_text("\xc3"), kMark);
  EXPECT_EQ(plain_text("\xc0\xaf"), std::string(kMark) + std::string(kMark));  // '/' in disguise
  EXPECT_EQ(plain_text("\xed\xa0\x80").find('\xed'), std::string::npos);       // a surrogate
  EXPECT_EQ(plain_text("\xf4\x90\x80\x80").find('\xf4'), std::string::npos);   // above U+10FFFF
  EXPECT_EQ(plain_text("\xef\xbf\xbf"), kMark);                                // no character
  EXPECT_EQ(plain_text("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
}

TEST(Markup, EscapesWhatMarkupIsMadeOf) {
  EXPECT_EQ(markup_escaped("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
}

TEST(Markup, DotStringsEndWhereTheyShould) {
  EXPECT_EQ(dot_quoted("a\"b"), "\"a\\\"b\"");
  EXPECT_EQ(dot_quoted("\\N\\"), "\"\\\\N\\\\\"");
  EXPECT_EQ(dot_quoted("&lt;"), "\"&amp;lt;\"");
}

TEST(Markup, ScriptsHoldNoTags) {
  EXPECT_EQ(script_safe(R"(["</script>&"])"), R"(["\u003c/script\u003e\u0026"])");
}

TEST(Markup, CutsBetweenCharacters) {
  EXPECT_EQ(cut_to("größe", 5), "größe");
  EXPECT_EQ(cut_to("größe", 4), "grö…");
  EXPECT_EQ(cut_to("größe", 1), "…");
  EXPECT_EQ(cut_to("", 3), "");
  EXPECT_EQ(characters("größe"), 5u);
}

}  // namespace
}  // namespace reprise
