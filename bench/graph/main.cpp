// SPDX-License-Identifier: Apache-2.0
// bench_graph: what recording and replaying costs, beside hand-written launches.
//
//   bench_graph [--device D] [--model M] [--small-model M] [--largest N] [--steps N]
//               [--sleep-gib N] [--sections LIST] [--json FILE]
//
// Defaults: auto, random:llama-2-7b, the same with two layers, 256, 10000, 16, all sections. Prints
// the record, which --json also writes. The device should have nothing else to do.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <reprise/error.h>

#include "core/build_info.h"
#include "sections.h"

namespace reprise::bench_graph {
namespace {

struct Section {
  const char* name;
  void (*measure)(const Setup&, JsonWriter&);
};
constexpr Section kSections[] = {
    {"launches", measure_launches}, {"ladders", measure_ladders},
    {"sharing", measure_sharing},   {"fragmentation", measure_fragmentation},
    {"sleep", measure_sleep},       {"loops", measure_loops}};

std::map<std::string, std::string> read_options(const std::vector<std::string>& words) {
  std::map<std::string, std::string> options{
      {"--device", "auto"},
      {"--model", "random:llama-2-7b"},
      {"--small-model", "random:bench/graph/two_layers.json"},
      {"--largest", "256"},
      {"--steps", "10000"},
      {"--sleep-gib", "16"},
      {"--sections", ""},
      {"--json", ""}};
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto known = options.find(words[i]);
    if (known == options.end() || i + 1 == words.size()) {
      throw UsageError(
          fmt::format("'{}' is no option with a value; see the head of "
                      "bench/graph/main.cpp",
                      words[i]));
    }
    known->second = words[i + 1];
  }
  return options;
}

int run(const std::vector<std::string>& words) {
  const auto options = read_options(words);
  Setup setup;
  setup.device = Device::open(options.at("--device"));
  setup.model = options.at("--model");
  setup.small_model = options.at("--small-model");
  setup.largest = std::stoi(options.at("--largest"));
  setup.random_steps = std::stoi(options.at("--steps"));
  setup.sleep_gib = std::stoul(options.at("--sleep-gib"));
  std::string command = "bench_graph";
  for (const std::string& word : words) command += ' ' + word;
  const DeviceProperties& device = setup.device->properties();
  JsonWriter json(2);
  json.begin_object()
      .member("device", device.name)
      .member("driver", device.driver)
      .member("date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))))
      .member("commit", build_commit())
      .member("command", command);
  const std::string wanted = ',' + options.at("--sections") + ',';
  for (const Section& section : kSections) {
    if (wanted != ",," && wanted.find(fmt::format(",{},", section.name)) == std::string::npos) {
      continue;
    }
    std::fprintf(stderr, "bench_graph: %s\n", section.name);
    section.measure(setup, json);
  }
  json.end_object();
  std::printf("%s\n", json.text().c_str());
  const std::string& path = options.at("--json");
  if (path.empty()) return 0;
  std::ofstream file(path);
  file << json.text() << '\n';
  file.close();
  if (!file) throw UsageError(fmt::format("{} could not be written", path));
  return 0;
}

}  // namespace
}  // namespace reprise::bench_graph

int main(int argc, char** argv) {
  try {
    return reprise::bench_graph::run({argv + 1, argv + argc});
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "bench_graph: %s\n", fault.what());
    return 1;
  }
}
