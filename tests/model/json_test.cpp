// SPDX-License-Identifier: Apache-2.0
#include "model/json.h"

#include <functional>

#include <gtest/gtest.h>

#include "model/support/tiny_model.h"

namespace reprise {
namespace {

std::string fault_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const ModelError& error) {
    return error.what();
  }
  return "(no error)";
}

std::string parse_fault(std::string_view text) {
  return fault_of([&] { JsonFile::parse(text, "x.json"); });
}

TEST(Json, ReadsEveryKind) {
  const JsonValue root =
      JsonFile::parse(R"({"i":-3,"r":2.5,"b":true,"s":"ü\n","n":null,"a":[1,[2]],"o":{"p":1}})",
                      "x.json")
          .root();
  EXPECT_EQ(root.at("i").integer(-10, 10), -3);
  EXPECT_EQ(root.at("i").number(), -3.0);
  EXPECT_EQ(root.at("r").number(), 2.5);
  EXPECT_TRUE(root.at("b").boolean());
  EXPECT_EQ(root.at("s").string(), "ü\n");
  EXPECT_FALSE(root.find("n"));
  EXPECT_TRUE(root.contains("n"));
  EXPECT_FALSE(root.contains("m"));
  EXPECT_EQ(root.at("a").items()[1].items()[0].integer(0, 9), 2);
  EXPECT_EQ(root.members().size(), 7u);
  EXPECT_EQ(root.members()[6].first, "o");
}

TEST(Json, MessagesNameFileFieldAndValue) {
  const JsonValue root =
      JsonFile::parse(R"({"o":{"a":[1,"64"]},"r":64.0,"n":null})", "x.json").root();
  const JsonValue item = root.at("o").at("a").items()[1];
  EXPECT_EQ(
      fault_of([&] { item.integer(1, 9); }),
      "x.json: field 'o.a[1]' must be an integer from 1 to 9, found \"64\"; correct the file");
  EXPECT_EQ(fault_of([&] { root.at("r").integer(1, 99); }),
            "x.json: field 'r' must be an integer from 1 to 99, found 64.0; correct the file");
  EXPECT_EQ(fault_of([&] { root.at("o").at("z"); }),
            "x.json: field 'o.z' is missing; add it to the file");
  EXPECT_EQ(fault_of([&] { root.at("n"); }), "x.json: field 'n' is null; give it a value");
  EXPECT_EQ(fault_of([&] { root.items(); }),
            "x.json: the document must be an array, found an object; correct the file");
}

TEST(Json, TheValueOutlivesTheFile) {
  std::optional<JsonValue> value;
  value = JsonFile::parse(R"({"a":{"b":"c"}})", "x.json").root().at("a");
  EXPECT_EQ(value->at("b").string(), "c");
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text : {"", " ", "{", "{\"a\":}", "[1,]", "NaN", "{\"a\":Infinity}", "1 2",
                           "{\"a\":01}", "\"\xff\"", "{\"a\":1e999}", "\"\n\"", "// no", "nul"}) {
    const std::string fault = parse_fault(text);
    EXPECT_EQ(fault.find("x.json: not valid JSON at byte "), 0u) << text << " gave " << fault;
    EXPECT_EQ(fault.find('\n'), std::string::npos) << fault;
    EXPECT_EQ(fault.find("json.exception"), std::string::npos) << fault;
  }
}

TEST(Json, LimitsDepthWithoutRecursion) {
  const std::string deep(100'000, '[');
  EXPECT_NE(parse_fault(deep).find("nested deeper than 64"), std::string::npos);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_NE(parse_fault(objects).find("nested deeper than 64"), std::string::npos);
  EXPECT_EQ(parse_fault(std::string(64, '[') + std::string(64, ']')), "(no error)");
}

TEST(Json, RefusesDuplicateKeys) {
  EXPECT_EQ(parse_fault(R"({"a":{"k":1,"j":2,"k":1}})"),
            "x.json: key 'k' appears twice in one object; keep one of them");
  EXPECT_EQ(parse_fault(R"([{"k":1},{"k":2}])"), "(no error)");
}

TEST(Json, IntegersBeyond64BitsAreNoIntegers) {
  const JsonValue root =
      JsonFile::parse(R"([9223372036854775807, 9223372036854775808])", "x").root();
  EXPECT_EQ(root.items()[0].integer(0, INT64_MAX), INT64_MAX);
  EXPECT_NE(fault_of([&] { root.items()[1].integer(0, INT64_MAX); }).find("9223372036854775808"),
            std::string::npos);
}

TEST(Json, FilesThatCannotBeRead) {
  const test::TempFolder folder;
  const auto missing = folder.path() / "none.json";
  EXPECT_EQ(fault_of([&] { JsonFile::read(missing); }), missing.string() + ": no such file");
  EXPECT_EQ(fault_of([&] { JsonFile::read(folder.path()); }),
            folder.path().string() + ": not a regular file");
}

}  // namespace
}  // namespace reprise
