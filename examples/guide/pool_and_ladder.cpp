// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <reprise/graph_pool.h>
#include <reprise/host.h>
#include <reprise/ladder.h>

#include "guide.h"

bool guide::pool_and_ladder() {
  const auto device = reprise::Device::open("host");
  reprise::Step step;
  step.name = "negate";
  step.bindings = {{.name = "x"}, {.name = "y", .kind = reprise::BindingKind::output}};
  step.run = [](reprise::StepContext& context) {
    const auto* x = context.tensor("x").as<float>();
    auto* const y = context.tensor("y").as<float>();
    reprise::host::enqueue(context.stream(), "negate", [x, y, rows = context.rows()] {
      for (int i = 0; i < rows; ++i) y[i] = -x[i];
    });
  };
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  const auto rows = [&](std::size_t count) {
    return reprise::host_tensor(std::span<const float>(values).first(count));
  };
  std::string notes;
  // [pool]
  reprise::GraphPoolOptions options;
  options.sizes = {1, 2, 4};  // recorded; empty: default_ladder(max_rows)
  options.max_rows = 6;       // what lies above 4 runs eagerly
  options.on_note = [&](std::string_view note) { notes += note; };
  reprise::GraphPool pool(device, step, options);
  const reprise::RecordReport report = pool.record();
  // [/pool]
  // [run]
  const reprise::RunResult padded = pool.run(3, {{"x", rows(3)}});  // replayed at 4
  const reprise::RunResult eager = pool.run(6, {{"x", rows(6)}});   // fallback: counted, noted
  const reprise::PoolCounters counters = pool.counters();
  // [/run]
  // [serving]
  options.postpone_self_test = true;
  reprise::GraphPool server(device, step, options);
  server.record();
  while (server.self_test_next()) {  // tests one size, the largest first; runs go in between
  }
  const bool proven = server.readiness().complete();
  // [/serving]
  // [proposal]
  const std::array<std::uint64_t, 6> seen = {90, 5, 1, 40, 0, 2};  // 90 batches of 1 row, …
  const reprise::LadderProposal ladder = reprise::propose_ladder(seen, 3);
  // [/proposal]
  return report.recorded == std::vector<int>{4, 2, 1} && padded.bucket == 4 &&
         eager.reason == reprise::FallbackReason::above_ladder && !notes.empty() &&
         counters.padded_rows == 1 && proven && ladder.sizes == std::vector<int>{1, 4, 6};
}
