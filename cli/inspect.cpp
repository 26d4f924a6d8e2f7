// SPDX-License-Identifier: Apache-2.0
// `reprise inspect`: what a recorded decode step holds.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/graph_picture.h>
#include <reprise/timeline_report.h>

#include "commands.h"
#include "core/text.h"
#include "diag/graph_text.h"
#include "diag/json.h"
#include "diag/programmatic.h"
#include "engine/decoder.h"
#include "open_device.h"
#include "output.h"

namespace reprise::cli {
namespace {

/// The nodes do not depend on it, the size of the cache does.
constexpr std::int64_t kContext = 256;
/// Entries in each row's cache where times are measured.
constexpr std::int64_t kTimedContext = 128;

using Facts = std::vector<std::pair<std::string, std::string>>;

/// Nothing where every operation ran by the kernel made for it.
Facts fallback_facts(Decoder& decoder) {
  Facts facts;
  for (const KernelFallback& fallback : decoder.ops().kernel_fallbacks()) {
    facts.emplace_back(fmt::format("kernel fallback {}", fallback.reason),
                       fmt::format("{} calls", fallback.calls));
  }
  return facts;
}

std::string fallback_text(Decoder& decoder) {
  std::string text;
  for (const auto& [name, count] : fallback_facts(decoder)) {
    text += fmt::format("\n{}: {}\n", name, count);
  }
  return text;
}

/// What was inspected.
struct Step {
  const InspectOptions& options;
  Decoder& decoder;
  std::optional<Timeline> timeline = {};

  const GraphPool& pool() const { return decoder.pool(); }
  const Graph& graph() const { return decoder.pool().graph(options.batch); }
};

/// What became of programmatic launches; nothing where there are none.
Facts programmatic_facts(const Step& step) {
  const std::string text = programmatic_text(programmatic_edges(step.graph().nodes()));
  if (text.empty()) return {};
  return {{"programmatic edges", text}};
}

std::int64_t timed_context(const Decoder& decoder) {
  return std::min(kTimedContext, decoder.max_context() - 1);
}

/// One real step puts inputs in place: after recording there are only padding rows.
Timeline measure(const InspectOptions& options, Decoder& decoder) {
  const std::int64_t context = timed_context(decoder);
  std::vector<Sequence> sequences;
  std::vector<DecodeRow> rows;
  decoder.stream().fill(decoder.cache().buffer().view(), 0);
  for (int row = 0; row < options.batch; ++row) {
    sequences.push_back(decoder.new_sequence());
    sequences.back().reserve(context + 1);
    sequences.back().set_length(context);
  }
  for (Sequence& sequence : sequences) rows.push_back({.sequence = &sequence});
  decoder.step(rows);
  return measure_timeline(decoder.pool().graph(options.batch), decoder.stream(),
                          {.replays = options.times});
}

std::string text(const Step& step) {
  const InspectOptions& options = step.options;
  Decoder& decoder = step.decoder;
  std::string text = fmt::format(
      "{} on {}: the recorded decode step of {} {}, context up to {}\n\n{}\n{}\n{}{}",
      printable(options.model), decoder.device().properties().name, options.batch,
      options.batch == 1 ? "row" : "rows", decoder.max_context(), graph_text(step.graph()),
      memory_summary(*step.pool().memory()), bucket_text(step.pool()), fallback_text(decoder));
  if (step.timeline) {
    text += fmt::format("\ntimes with {} entries in each row's cache\n{}", timed_context(decoder),
                        timeline_text(step.graph(), *step.timeline));
  }
  return text;
}

std::string json(const Step& step) {
  Facts facts = fallback_facts(step.decoder);
  facts.insert(facts.begin(), {{"model", step.options.model},
                               {"device", step.decoder.device().properties().name}});
  if (step.timeline) {
    facts.emplace_back("context", fmt::format("{}", timed_context(step.decoder)));
  }
  return graph_json(step.pool(), step.options.batch, facts,
                    step.timeline ? &*step.timeline : nullptr) +
         '\n';
}

std::string title(const Step& step) { return "Recorded decode step of " + step.options.model; }

GraphCaption caption(const Step& step) {
  Facts facts = fallback_facts(step.decoder);
  facts.insert(facts.begin(), {{"device", step.decoder.device().properties().name},
                               {"context", fmt::format("up to {}", step.decoder.max_context())}});
  const Facts programmatic = programmatic_facts(step);
  facts.insert(facts.end(), programmatic.begin(), programmatic.end());
  GraphCaption caption{.title = title(step), .facts = std::move(facts), .node_microseconds = {}};
  if (!step.timeline) return caption;
  const Timeline& timeline = *step.timeline;
  caption.node_microseconds = node_microseconds(timeline);
  caption.timeline = &timeline;
  caption.facts.emplace_back(
      "times", fmt::format("medians of {} replays with {} entries in each row's cache, a stamp "
                           "behind each node; a node with next to no work measures {:.2f} µs",
                           timeline.stamped.microseconds.size(), timed_context(step.decoder),
                           timeline.floor_us));
  caption.facts.emplace_back("replay",
                             fmt::format("{:.1f} µs as it serves, {:.1f} µs with stamps",
                                         timeline.served.median(), timeline.stamped.median()));
  return caption;
}

std::string shown(const Step& step) {
  switch (step.options.format) {
    case InspectFormat::text:
      return text(step);
    case InspectFormat::json:
      return json(step);
    case InspectFormat::dot:
      return graph_dot(step.graph(), caption(step));
    case InspectFormat::svg:
      return graph_svg(step.graph(), caption(step));
    case InspectFormat::html:
      return graph_html(step.pool(), step.options.batch, caption(step));
    case InspectFormat::trace:
      return timeline_trace(step.graph(), step.timeline.value(), title(step));
  }
  throw Error("inspect was asked for a format that it does not know");
}

}  // namespace

int inspect(const InspectOptions& options) {
  if (options.batch < 1) {
    throw UsageError(fmt::format("batch {} is no batch: sizes begin at 1", options.batch));
  }
  const std::shared_ptr<Device> device = open_device(options.device);
  const ModelSource source = open_model(options.model);
  Decoder decoder(device, source,
                  {.max_batch = options.batch,
                   .sizes = {options.batch},
                   .max_context = std::min(source.config.max_positions, kContext),
                   .programmatic_launch = options.programmatic_launch,
                   .on_note = nullptr});
  decoder.record();
  Step step{.options = options, .decoder = decoder};
  if (options.times > 0) step.timeline = measure(options, decoder);
  write_out(shown(step));
  return 0;
}

}  // namespace reprise::cli
