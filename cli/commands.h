// SPDX-License-Identifier: Apache-2.0
// The program's commands and what each is told. options.cpp fills the structs from the command
// line; each command has a file of its own. A command returns the exit status; what it throws
// becomes one line "reprise: error: …" in main.cpp (exit 2 for UsageError, 1 for everything else).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace reprise::cli {

struct GenerateOptions {
  std::string model;
  std::optional<std::string> prompt;
  std::optional<std::vector<std::int32_t>> tokens;  ///< used as they are
  std::int64_t max_tokens = 128;
  std::optional<double> temperature;  ///< nothing: generation_config.json's, else 0
  std::uint64_t seed = 0;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  bool eager = false;
  bool fake_record = false;
  bool stats = false;
  bool print_ids = false;
  std::string device = "auto";
};

enum class LogitsMode : std::uint8_t { prefill, graph, eager, fake };

struct LogitsOptions {
  std::string model;
  std::vector<std::int32_t> tokens;
  std::filesystem::path out;
  LogitsMode mode = LogitsMode::prefill;
  std::string device = "auto";
};

struct TokenizeOptions {
  std::string model;
  bool no_special = false;
  bool decode = false;
};

struct BenchOptions {
  std::string model;
  std::vector<int> batches = {1, 2, 4, 8, 16, 32};
  std::int64_t context = 128;
  bool eager = true;
  bool graph = true;
  int steps = 200;
  std::string device = "auto";
  std::optional<std::filesystem::path> json;
  std::string command_line;  ///< as typed, for the record
};

enum class InspectFormat : std::uint8_t { text, json, dot, svg, html, trace };

struct InspectOptions {
  std::string model;
  int batch = 1;
  InspectFormat format = InspectFormat::text;
  int times = 0;  ///< replays to measure; 0: none
  std::string device = "auto";
};

enum class InfoFormat : std::uint8_t { text, json };

struct InfoOptions {
  std::optional<std::string> model;
  bool measure = true;
  InfoFormat format = InfoFormat::text;
  std::string device = "auto";
};

int generate(const GenerateOptions& options);
int logits(const LogitsOptions& options);
int tokenize(const TokenizeOptions& options);
int bench(const BenchOptions& options);
int inspect(const InspectOptions& options);
int info(const InfoOptions& options);

}  // namespace reprise::cli
