// SPDX-License-Identifier: Apache-2.0
// `reprise info`: its lines, its JSON, and what it measured.
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/support/program.h"

namespace reprise::test {
namespace {

using nlohmann::json;

Ran info(std::vector<std::string> more) {
  more.insert(more.begin(), {"info", "--device", "host"});
  Ran ran = run_program(more);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  return ran;
}

/// The text behind a line's name; "" where there is no such line.
std::string content(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + " ")) return line.substr(line.find_first_not_of(' ', name.size()));
  }
  return "";
}

TEST(Info, MeasuresTheDevice) {
  const std::string text = info({}).out;
  EXPECT_NE(text.find("\nmeasured:\n"), std::string::npos) << text;
  for (const std::string name :
       {"read", "copy", "eager launch", "graph launch", "graph node", "pinned copy"}) {
    const std::string found = content(text, name);
    ASSERT_NE(found, "") << name << " in " << text;
    EXPECT_GT(std::stod(found), 0) << found;
  }
  EXPECT_NE(content(text, "graph launch").find("320 nodes"), std::string::npos) << text;
}

TEST(Info, MeasuresNothingWhereThatIsNotWanted) {
  EXPECT_EQ(info({"--no-measure"}).out.find("measured"), std::string::npos);
  EXPECT_FALSE(json::parse(info({"--no-measure", "--format", "json"}).out).contains("measured"));
}

TEST(Info, GivesTheSameFactsAsJson) {
  const json facts = json::parse(info({demo_folder(), "--format", "json"}).out);
  EXPECT_EQ(facts["device"]["label"], "host:0");
  EXPECT_GT(facts["device"]["threads"], 0);
  EXPECT_GT(facts["device"]["memory_total_bytes"], facts["device"]["memory_free_bytes"]);
  EXPECT_EQ(facts["model"]["architecture"], "LlamaForCausalLM");
  EXPECT_EQ(facts["model"]["parameters"], 7344384);
  EXPECT_EQ(facts["model"]["context"], 1024);
  const json& measured = facts["measured"];
  for (const auto& [name, value] : measured.items()) {
    if (!value.is_number()) continue;
    EXPECT_GT(value.get<double>(), 0) << name;
  }
  ASSERT_EQ(measured["graph_launches"].size(), 3u);
  EXPECT_EQ(measured["graph_launches"][2]["nodes"], 320);
  EXPECT_GT(measured["graph_launches"][2]["device_us"], 0.0);
}

TEST(Info, RefusesAnUnknownFormat) {
  expect_refusal(run_program({"info", "--format", "xml"}), 2, "'xml'");
}

}  // namespace
}  // namespace reprise::test
