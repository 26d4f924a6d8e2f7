// SPDX-License-Identifier: Apache-2.0
// `reprise inspect`: what a recorded decode step holds.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/graph_picture.h>

#include "commands.h"
#include "core/text.h"
#include "diag/graph_text.h"
#include "diag/json.h"
#include "engine/decoder.h"
#include "open_device.h"
#include "output.h"

namespace reprise::cli {
namespace {

/// The nodes do not depend on it, the size of the cache does.
constexpr std::int64_t kContext = 256;

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

std::string text(const InspectOptions& options, Decoder& decoder) {
  const GraphPool& pool = decoder.pool();
  return fmt::format(
      "{} on {}: the recorded decode step of {} {}, context up to {}\n\n{}\n{}\n{}{}",
      printable(options.model), decoder.device().properties().name, options.batch,
      options.batch == 1 ? "row" : "rows", decoder.max_context(),
      graph_text(pool.graph(options.batch)), memory_summary(*pool.memory()), bucket_text(pool),
      fallback_text(decoder));
}

std::string json(const InspectOptions& options, Decoder& decoder) {
  Facts facts = fallback_facts(decoder);
  facts.insert(facts.begin(),
               {{"model", options.model}, {"device", decoder.device().properties().name}});
  return graph_json(decoder.pool(), options.batch, facts) + '\n';
}

GraphCaption caption(const InspectOptions& options, Decoder& decoder) {
  Facts facts = fallback_facts(decoder);
  facts.insert(facts.begin(), {{"device", decoder.device().properties().name},
                               {"context", fmt::format("up to {}", decoder.max_context())}});
  return {.title = "Recorded decode step of " + options.model,
          .facts = std::move(facts),
          .node_microseconds = {}};
}

std::string shown(const InspectOptions& options, Decoder& decoder) {
  const GraphPool& pool = decoder.pool();
  switch (options.format) {
    case InspectFormat::text:
      return text(options, decoder);
    case InspectFormat::json:
      return json(options, decoder);
    case InspectFormat::dot:
      return graph_dot(pool.graph(options.batch), caption(options, decoder));
    case InspectFormat::svg:
      return graph_svg(pool.graph(options.batch), caption(options, decoder));
    case InspectFormat::html:
      return graph_html(pool, options.batch, caption(options, decoder));
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
                   .on_note = nullptr});
  decoder.record();
  write_out(shown(options, decoder));
  return 0;
}

}  // namespace reprise::cli
