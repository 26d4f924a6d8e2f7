// SPDX-License-Identifier: Apache-2.0
#include "engine/stop_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <reprise/error.h>

namespace reprise {
namespace {

std::string all_of(StopText& stop, const std::vector<std::string>& pieces) {
  std::string out;
  for (const std::string& piece : pieces) out += stop.push(piece);
  return out + stop.flush();
}

TEST(StopText, WithoutStopsAllPassesAtOnce) {
  StopText stop({});
  EXPECT_EQ(stop.push("abc"), "abc");
  EXPECT_FALSE(stop.stopped());
}

TEST(StopText, HoldsBackOnlyWhatCouldBeginAStop) {
  StopText stop({"END"});
  EXPECT_EQ(stop.push("the E"), "the ");
  EXPECT_EQ(stop.push("N"), "");
  EXPECT_EQ(stop.push("E"), "EN");
  EXPECT_EQ(stop.push("ND!"), "");
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(stop.push("more"), "");
  EXPECT_EQ(stop.flush(), "");
}

TEST(StopText, GivesBackAtTheEndWhatWasNoStop) {
  StopText stop({"END"});
  EXPECT_EQ(all_of(stop, {"the EN"}), "the EN");
  EXPECT_FALSE(stop.stopped());
}

TEST(StopText, TheStopThatBeginsFirstCuts) {
  StopText stop({"cd", "bcde"});
  EXPECT_EQ(all_of(stop, {"abcdef"}), "a");
}

TEST(StopText, RefusesAnEmptyStop) { EXPECT_THROW(StopText({"a", ""}), UsageError); }

TEST(StopText, OneStopCutsWhereverThePiecesEnd) {
  rc::check([](const std::vector<std::string>& raw) {
    // Two letters, so that near misses are common.
    std::vector<std::string> pieces;
    std::string whole;
    for (const std::string& piece : raw) {
      pieces.emplace_back();
      for (const char c : piece) pieces.back() += (c & 1) != 0 ? 'a' : 'b';
      whole += pieces.back();
    }
    for (const std::string stop_at : {"aab", "abab", "bb"}) {
      StopText stop({stop_at});
      RC_ASSERT(all_of(stop, pieces) == whole.substr(0, whole.find(stop_at)));
      RC_ASSERT(stop.stopped() == (whole.find(stop_at) != std::string::npos));
    }
  });
}

}  // namespace
}  // namespace reprise
