// SPDX-License-Identifier: Apache-2.0
// `reprise bench` and `reprise inspect` as scripts meet them: the program, its output, its files.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace reprise {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

std::string contents(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class MeasuringProgram : public ::testing::Test {
 protected:
  struct Outcome {
    int status = -1;
    std::string out;
    std::string err;
  };

  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("reprise-bench-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Outcome run(const std::string& arguments) const {
    const auto out = folder_ / "out";
    const auto err = folder_ / "err";
    const std::string line = std::string(REPRISE_PROGRAM) + " " + arguments + " > " + out.string() +
                             " 2> " + err.string();
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  static std::string demo() { return std::string(REPRISE_SOURCE_DIR) + "/models/demo"; }

  std::filesystem::path folder_;
};

std::set<std::string> keys(const json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

void expect_number_above(const json& value, double least, const std::string& what) {
  ASSERT_TRUE(value.is_number()) << what;
  EXPECT_GT(value.get<double>(), least) << what;
}

void check_result(const json& result, const std::string& model, double read) {
  EXPECT_EQ(keys(result), (std::set<std::string>{
                              "model", "dtype", "context", "batch", "mode", "lengths",
                              "block_table", "variant", "ms_per_step_median", "ms_per_step_p99",
                              "ms_per_step_synced_median", "tokens_per_s", "gb_per_s",
                              "bandwidth_share", "host_us_per_step", "steps", "repeats"}));
  EXPECT_EQ(result["model"], model);
  EXPECT_EQ(result["dtype"], "bf16");
  EXPECT_EQ(result["context"], 16);
  EXPECT_EQ(result["lengths"], "equal");
  EXPECT_EQ(result["block_table"], "ordered");
  EXPECT_EQ(result["variant"], "default");
  EXPECT_EQ(result["steps"], 5);
  EXPECT_EQ(result["repeats"], 5);
  for (const char* name : {"ms_per_step_median", "ms_per_step_synced_median", "host_us_per_step",
                           "tokens_per_s", "gb_per_s", "bandwidth_share"}) {
    expect_number_above(result[name], 0, name);
  }
  const double ms = result["ms_per_step_median"];
  EXPECT_GE(result["ms_per_step_p99"].get<double>(), ms);
  EXPECT_NEAR(result["tokens_per_s"].get<double>() * ms / 1000, result["batch"].get<double>(),
              1e-6);
  EXPECT_NEAR(result["bandwidth_share"].get<double>() * read / result["gb_per_s"].get<double>(), 1,
              1e-9);
}

TEST_F(MeasuringProgram, BenchWritesATableAndARecord) {
  const std::string file = at("it's a record.json");
  const Outcome outcome =
      run("bench " + demo() + " --batch 1,2 --steps 5 --context 16 --device host --json \"" + file +
          '"');
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("eager/graph"));
  EXPECT_THAT(outcome.out, HasSubstr("ladder 2,1: warm-up "));
  EXPECT_THAT(outcome.out, HasSubstr("read bandwidth: "));
  EXPECT_THAT(outcome.out, HasSubstr("about 1.0x is the honest ratio"));

  const json record = json::parse(contents(file));
  EXPECT_EQ(keys(record), (std::set<std::string>{"device", "driver", "date", "commit", "command",
                                                 "read_gb_per_s", "results", "ladder"}));
  EXPECT_THAT(record["date"].get<std::string>(), MatchesRegex("20..-..-..T..:..:..Z"));
  EXPECT_THAT(record["command"].get<std::string>(), HasSubstr("--steps 5"));
  EXPECT_THAT(record["command"].get<std::string>(), EndsWith(R"(/it'\''s a record.json')"));
  EXPECT_FALSE(record["device"].get<std::string>().empty());
  EXPECT_FALSE(record["commit"].get<std::string>().empty());
  expect_number_above(record["read_gb_per_s"], 0, "read_gb_per_s");
  std::map<std::pair<int, std::string>, int> seen;
  for (const json& result : record["results"]) {
    check_result(result, demo(), record["read_gb_per_s"]);
    ++seen[{result["batch"], result["mode"]}];
  }
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_EQ(record["results"].size(), 4u);
  const json& ladder = record["ladder"];
  EXPECT_EQ(keys(ladder), (std::set<std::string>{"sizes", "warmup_s", "record_s", "pool_mib",
                                                 "executables_mib"}));
  EXPECT_EQ(ladder["sizes"], json::array({2, 1}));
  expect_number_above(ladder["warmup_s"], 0, "warmup_s");
  expect_number_above(ladder["record_s"], 0, "record_s");
  expect_number_above(ladder["pool_mib"], 0, "pool_mib");
  EXPECT_GE(ladder["executables_mib"].get<double>(), 0);
}

TEST_F(MeasuringProgram, BenchTakesOneMode) {
  const Outcome outcome =
      run("bench " + demo() + " --batch 1 --steps 1 --context 4 --device host --modes eager");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("nothing was recorded"));
  EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr(" graph ")));
}

TEST_F(MeasuringProgram, BenchNamesAPlaceItCannotWriteBeforeItMeasures) {
  const std::string nowhere = at("missing/record.json");
  // The model isn't there either: the file is what is looked at first.
  const Outcome outcome = run("bench " + at("no-model") + " --json " + nowhere);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, StartsWith("reprise: error: "));
  EXPECT_THAT(outcome.err, HasSubstr(nowhere));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(MeasuringProgram, AFailedBenchLeavesTheOldRecordAlone) {
  const std::string file = at("record.json");
  std::ofstream(file) << "old";
  const Outcome outcome = run("bench " + at("no-model") + " --json " + file);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no-model"));
  EXPECT_EQ(contents(file), "old");
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_THAT(entry.path().string(), ::testing::Not(EndsWith(".part")));
  }
}

TEST_F(MeasuringProgram, BenchRefusesBadValues) {
  for (const char* bad : {"--batch 0", "--batch 2,2", "--context 0", "--steps 0"}) {
    const Outcome outcome = run("bench " + demo() + " --device host " + bad);
    EXPECT_EQ(outcome.status, 2) << bad;
    EXPECT_THAT(outcome.err, StartsWith("reprise: error: ")) << bad;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

TEST_F(MeasuringProgram, InspectNamesTheLayersNodes) {
  const Outcome outcome = run("inspect " + demo() + " --batch 2 --device host");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("layer 0 / qkv / matmul"));
  EXPECT_THAT(outcome.out, HasSubstr("head / logits"));
  EXPECT_THAT(outcome.out, HasSubstr("in all"));
  EXPECT_THAT(outcome.out, HasSubstr("Memory pool"));
  EXPECT_THAT(outcome.out, HasSubstr("recorded"));
}

TEST_F(MeasuringProgram, InspectAsJsonIsOneObject) {
  const Outcome outcome = run("inspect " + demo() + " --format json --device host");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json graph = json::parse(outcome.out);
  EXPECT_EQ(graph["model"], demo());
  EXPECT_EQ(graph["rows"], 1);
  const json& nodes = graph["nodes"];
  ASSERT_GT(nodes.size(), 10u);
  EXPECT_EQ(graph["node_counts"]["kernel"], nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(nodes[i]["index"], i);
    for (const json& dependency : nodes[i]["dependencies"]) EXPECT_LT(dependency, i);
  }
  EXPECT_GT(graph["memory"]["statistics"]["reserved_bytes"]["current"], 0);
  EXPECT_EQ(graph["programmatic_edges"]["launches"], 0);  // the host has no such thing
  EXPECT_EQ(graph["buckets"][0]["state"], "recorded");
}

}  // namespace
}  // namespace reprise
