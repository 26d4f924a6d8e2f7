// SPDX-License-Identifier: Apache-2.0
// The one file that knows CLI11. Options are taken as text and read by values.h, so that every
// refusal has one form.
#include "options.h"

#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <reprise/error.h>

#include "commands.h"
#include "core/build_info.h"
#include "core/text.h"
#include "device/spec.h"
#include "output.h"
#include "values.h"

namespace reprise::cli {
namespace {

constexpr std::int64_t kMostRows = 1 << 20;
constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr std::int64_t kMostReplays = 100'000;  // all their stamps are kept
constexpr std::int64_t kMostContext = std::numeric_limits<std::int32_t>::max();

constexpr const char* kModelHelp =
    "Hugging Face folder, or random:NAME for random weights (llama-2-7b, llama-2-13b, "
    "tinyllama-1.1b, llama-3-8b, or a path to a config.json)";

// A subcommand's options as text. Read after parsing.
class Spec {
 public:
  Spec(CLI::App& program, const std::string& name, const std::string& help, std::string line)
      : app_(program.add_subcommand(name, help)), command_line_(std::move(line)) {}

  void model(bool required = true, const std::string& help = kModelHelp) {
    app_->add_option("MODEL", help)->type_name("")->required(required);
  }
  void device() {
    app_->add_option("--device", "auto, host, cuda or cuda:N (default: auto)")->type_name("D");
  }
  void no_pdl() {
    flag("--no-pdl",
         "Launch every kernel when the one before it has ended, without programmatic dependent "
         "launch");
  }
  void option(const std::string& names, const std::string& type, const std::string& help,
              bool required = false) {
    app_->add_option(names, help)->type_name(type)->required(required);
  }
  void repeated(const std::string& name, const std::string& type, const std::string& help) {
    app_->add_option(name, help)
        ->type_name(type)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  void flag(const std::string& name, const std::string& help) { app_->add_flag(name, help); }
  void closing_text(const std::string& text) { app_->footer(text); }

  bool parsed() const { return app_->parsed(); }
  const std::string& command_line() const { return command_line_; }
  bool given(const std::string& name) const { return app_->count(name) > 0; }
  std::string text(const std::string& name) const {
    return app_->get_option(name)->results().front();
  }
  std::vector<std::string> all(const std::string& name) const {
    return given(name) ? app_->get_option(name)->results() : std::vector<std::string>{};
  }
  /// CLI11's flags take any word, as in --eager=maybe; ours take none.
  bool flagged(const std::string& name) const {
    if (given(name) && text(name) != "true") {
      throw UsageError(fmt::format("{} takes no value, found {}", name, in_quotes(text(name))));
    }
    return given(name);
  }
  std::string model_text() const { return text("MODEL"); }
  std::string device_text() const {
    if (!given("--device")) return "auto";
    parse_device_spec(text("--device"));  // refused before a model is opened
    return text("--device");
  }
  std::int64_t integer(const std::string& name, std::int64_t otherwise, std::int64_t low,
                       std::int64_t high) const {
    return given(name) ? parse_integer(name, text(name), low, high) : otherwise;
  }

 private:
  CLI::App* app_;
  std::string command_line_;  // as typed
};

// The value of an option that knows a few words.
template <class T>
T choice(const std::string& option, std::string_view text,
         std::initializer_list<std::pair<std::string_view, T>> words) {
  std::string known;
  for (const auto& [word, value] : words) {
    if (word == text) return value;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  throw UsageError(
      fmt::format("{}: {} is unknown; choose one of {}", option, in_quotes(text), known));
}

void declare_generate(Spec& spec) {
  spec.model();
  spec.option("-p,--prompt", "TEXT",
              "Text to continue, with the tokenizer's special tokens; \"\" is the BOS alone");
  spec.option("--tokens", "IDS", "Prompt as token ids, such as 1,15,27, used as they are");
  spec.option("--max-tokens", "N", "Tokens to generate at most (default: 128)");
  spec.option("--temperature", "T",
              "0: the likeliest token always (default: generation_config.json's, else 0)");
  spec.option("--seed", "S", "Seed of the random choice (default: 0)");
  spec.repeated("--stop", "TEXT", "End before this text; may be given several times");
  spec.flag("--ignore-eos", "Go on after an end-of-text token");
  spec.device();
  spec.flag("--eager", "Run every step eagerly instead of replaying the recorded one");
  spec.flag("--fake-record",
            "Take the recorded step's path but call the step instead of launching a graph: for "
            "debuggers, and to tell a graph's fault from a step's");
  spec.no_pdl();
  spec.flag("--stats", "Print a JSON object as the last line of standard error");
  spec.flag("--print-ids", "Print the generated ids as a JSON array instead of text");
  spec.closing_text(
      "The continuation goes to standard output as it is made, without the prompt; a newline ends\n"
      "it. Statistics: replays, eager_steps, prefill_steps,\n"
      "padded_rows, fallbacks {reason: count}, record_ms, ms_per_token (of the decode steps; 0 "
      "where\n"
      "there was none), device (as --device takes it); with --fake-record also fake_replays;\n"
      "kernel_fallbacks {reason: calls} where products ran by a more general kernel than theirs.");
}

Command make_generate(const Spec& spec) {
  GenerateOptions options;
  options.model = spec.model_text();
  if (spec.given("--prompt") == spec.given("--tokens")) {
    throw UsageError(spec.given("--tokens")
                         ? "--prompt and --tokens are both given; give one of them"
                         : "there is no prompt; give -p TEXT or --tokens IDS");
  }
  if (spec.given("--prompt")) options.prompt = spec.text("--prompt");
  if (spec.given("--tokens")) options.tokens = parse_ids("--tokens", spec.text("--tokens"));
  options.max_tokens =
      spec.integer("--max-tokens", options.max_tokens, 0, std::numeric_limits<std::int64_t>::max());
  if (spec.given("--temperature")) {
    options.temperature = parse_temperature("--temperature", spec.text("--temperature"));
  }
  if (spec.given("--seed")) options.seed = parse_seed("--seed", spec.text("--seed"));
  options.stop = spec.all("--stop");
  for (const std::string& stop : options.stop) {
    if (stop.empty()) throw UsageError("--stop: the text is empty; give at least one character");
  }
  options.ignore_eos = spec.flagged("--ignore-eos");
  options.eager = spec.flagged("--eager");
  options.fake_record = spec.flagged("--fake-record");
  if (options.eager && options.fake_record) {
    throw UsageError("--eager and --fake-record are both given; give one of them");
  }
  options.programmatic_launch = !spec.flagged("--no-pdl");
  options.stats = spec.flagged("--stats");
  options.print_ids = spec.flagged("--print-ids");
  options.device = spec.device_text();
  return [options] { return generate(options); };
}

void declare_logits(Spec& spec) {
  spec.model();
  spec.option("--tokens", "IDS", "Token ids, such as 1,15,27, used as they are", true);
  spec.option("--out", "FILE", "safetensors file to write: `logits`, F32 [positions, vocabulary]",
              true);
  spec.option("--mode", "M",
              "prefill (one pass; the default), graph (replayed decode steps), eager, or fake "
              "(the replay's path, calling the step instead of launching a graph)");
  spec.no_pdl();
  spec.device();
}

Command make_logits(const Spec& spec) {
  LogitsOptions options;
  options.model = spec.model_text();
  options.tokens = parse_ids("--tokens", spec.text("--tokens"));
  options.out = spec.text("--out");
  if (options.out.empty()) throw UsageError("--out: the file name is empty");
  if (spec.given("--mode")) {
    options.mode = choice<LogitsMode>("--mode", spec.text("--mode"),
                                      {{"prefill", LogitsMode::prefill},
                                       {"graph", LogitsMode::graph},
                                       {"eager", LogitsMode::eager},
                                       {"fake", LogitsMode::fake}});
  }
  options.programmatic_launch = !spec.flagged("--no-pdl");
  options.device = spec.device_text();
  return [options] { return logits(options); };
}

void declare_tokenize(Spec& spec) {
  spec.model(true, "Folder with a tokenizer.json");
  spec.flag("--no-special", "Add no special tokens; with --decode: leave them out");
  spec.flag("--decode", "Read a JSON array of ids and print exactly their text");
  spec.closing_text("Reads all of standard input; prints a JSON array of token ids.");
}

Command make_tokenize(const Spec& spec) {
  const TokenizeOptions options{.model = spec.model_text(),
                                .no_special = spec.flagged("--no-special"),
                                .decode = spec.flagged("--decode")};
  return [options] { return tokenize(options); };
}

void declare_bench(Spec& spec) {
  spec.model();
  spec.option("--batch", "LIST", "Batch sizes (default: 1,2,4,8,16,32)");
  spec.option("--context", "N", "Entries in every row's cache before each step (default: 128)");
  spec.option("--modes", "LIST", "eager, graph or both (default: eager,graph)");
  spec.option("--steps", "N", "Timed steps per repeat (default: 200)");
  spec.no_pdl();
  spec.device();
  spec.option("--json", "FILE", "Write the results to FILE as well");
}

Command make_bench(const Spec& spec) {
  BenchOptions options;
  options.command_line = spec.command_line();
  options.model = spec.model_text();
  if (spec.given("--batch")) {
    const std::string list = spec.text("--batch");
    options.batches.clear();
    for (const std::string_view piece : split_list("--batch", list)) {
      options.batches.push_back(static_cast<int>(parse_integer("--batch", piece, 1, kMostRows)));
    }
  }
  options.context = spec.integer("--context", options.context, 1, kMostContext);
  if (spec.given("--modes")) {
    const std::string list = spec.text("--modes");
    options.eager = options.graph = false;
    for (const std::string_view piece : split_list("--modes", list)) {
      const auto mode = choice<bool BenchOptions::*>(
          "--modes", piece, {{"eager", &BenchOptions::eager}, {"graph", &BenchOptions::graph}});
      options.*mode = true;
    }
  }
  options.steps = static_cast<int>(spec.integer("--steps", options.steps, 1, kMostSteps));
  options.programmatic_launch = !spec.flagged("--no-pdl");
  options.device = spec.device_text();
  if (spec.given("--json")) options.json = spec.text("--json");
  if (options.json && options.json->empty()) throw UsageError("--json: the file name is empty");
  return [options] { return bench(options); };
}

void declare_inspect(Spec& spec) {
  spec.model();
  spec.option("--batch", "N", "Batch size to record (default: 1)");
  spec.option("--format", "F",
              "text (the default), json, dot (Graphviz), svg, html or, with --times, trace (for "
              "Perfetto or chrome://tracing)");
  spec.option("--times", "N", "Measure N replays, node by node, and show when each node ran");
  spec.no_pdl();
  spec.device();
}

Command make_inspect(const Spec& spec) {
  InspectOptions options;
  options.model = spec.model_text();
  options.batch = static_cast<int>(spec.integer("--batch", options.batch, 1, kMostRows));
  if (spec.given("--format")) {
    options.format = choice<InspectFormat>("--format", spec.text("--format"),
                                           {{"text", InspectFormat::text},
                                            {"json", InspectFormat::json},
                                            {"dot", InspectFormat::dot},
                                            {"svg", InspectFormat::svg},
                                            {"html", InspectFormat::html},
                                            {"trace", InspectFormat::trace}});
  }
  options.times = static_cast<int>(spec.integer("--times", 0, 1, kMostReplays));
  if (options.format == InspectFormat::trace && options.times == 0) {
    throw UsageError("--format trace shows measured times, and none are asked for; add --times 20");
  }
  options.programmatic_launch = !spec.flagged("--no-pdl");
  options.device = spec.device_text();
  return [options] { return inspect(options); };
}

void declare_info(Spec& spec) {
  spec.model(false);
  spec.flag("--no-measure", "Leave out what takes a second: bandwidths and costs of launching");
  spec.option("--format", "F", "text (the default) or json");
  spec.device();
}

Command make_info(const Spec& spec) {
  InfoOptions options;
  if (spec.given("MODEL")) options.model = spec.model_text();
  options.measure = !spec.flagged("--no-measure");
  if (spec.given("--format")) {
    options.format = choice<InfoFormat>("--format", spec.text("--format"),
                                        {{"text", InfoFormat::text}, {"json", InfoFormat::json}});
  }
  options.device = spec.device_text();
  return [options] { return info(options); };
}

struct Entry {
  const char* name;
  const char* help;
  void (*declare)(Spec&);
  Command (*make)(const Spec&);
};

constexpr Entry kCommands[] = {
    {"generate", "Continue a text", declare_generate, make_generate},
    {"logits", "Write a model's logits for given tokens to a file", declare_logits, make_logits},
    {"tokenize", "Turn text into token ids, or back", declare_tokenize, make_tokenize},
    {"bench", "Measure eager against recorded decode steps", declare_bench, make_bench},
    {"inspect", "Show the recorded step and the memory it uses", declare_inspect, make_inspect},
    {"info", "Show the device, the build and a model's facts", declare_info, make_info},
};

Command print(std::string text) {
  return [text = std::move(text)] {
    write_out(text);
    return 0;
  };
}

std::string shell_quoted(std::string_view argument) {
  if (!argument.empty() &&
      argument.find_first_of(" \t\n'\"\\$`&|;<>()*?[]#~!{}") == argument.npos) {
    return std::string(argument);
  }
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + '\'';
}

// As a shell would take it again.
std::string command_line(int argc, const char* const* argv) {
  std::string line = "reprise";
  for (int i = 1; i < argc; ++i) line += ' ' + shell_quoted(argv[i]);
  return line;
}

// CLI11's refusals in our words where its own don't say what to do.
std::string refusal(const CLI::App& program, const CLI::ParseError& fault) {
  const std::vector<const CLI::App*> chosen = program.get_subcommands({});
  std::string help = "reprise --help";
  const char* extra_is = "command";
  for (const CLI::App* command : chosen) {
    if (!command->parsed()) continue;
    help = fmt::format("reprise {} --help", command->get_name());
    extra_is = "argument";
  }
  const std::vector<std::string> extras = program.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&fault) == nullptr || extras.empty()) {
    return fmt::format("{}; see {}", fault.what(), help);
  }
  const std::string& extra = extras.front();
  return fmt::format("{} {} is unknown; see {}", extra.starts_with("-") ? "option" : extra_is,
                     in_quotes(extra), help);
}

}  // namespace

Command parse_command_line(int argc, const char* const* argv) {
  CLI::App program("Text from Llama-family models, through recorded decode steps.", "reprise");
  program.set_version_flag("--version",
                           fmt::format("reprise {} ({})", build_version(), build_commit()));
  const std::string line = command_line(argc, argv);
  std::vector<std::pair<const Entry*, Spec>> specs;
  for (const Entry& entry : kCommands) {
    entry.declare(specs.emplace_back(&entry, Spec(program, entry.name, entry.help, line)).second);
  }
  try {
    program.parse(argc, argv);
    for (const auto& [entry, spec] : specs) {
      if (spec.parsed()) return entry->make(spec);
    }
  } catch (const CLI::CallForVersion& asked) {
    return print(std::string(asked.what()) + "\n");
  } catch (const CLI::Success&) {  // --help
    return print(program.help());
  } catch (const CLI::ParseError& fault) {
    throw UsageError(refusal(program, fault));
  }
  throw UsageError(
      "no command is given; use reprise generate MODEL -p TEXT, or see reprise --help");
}

}  // namespace reprise::cli
