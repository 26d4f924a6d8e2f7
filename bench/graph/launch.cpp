// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include <reprise/graph_pool.h>
#include <reprise/graph_runner.h>

#include "core/statistics.h"
#include "hand_loop.h"
#include "kernels/ops.h"
#include "sections.h"

namespace reprise::bench_graph {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBurst = 10;  // launches, few enough that none waits for room in a queue
constexpr int kBursts = 501;
constexpr int kRows = 32;
constexpr std::int64_t kPages = 9;  // of a block table for context 128

/// One way to launch, and what a call of it took the host, by burst.
struct Way {
  const char* name;
  std::function<void()> launch;
  std::function<void()> synchronize;
  std::vector<double> us = {};
};

/// Few enough that no call waits for a pinned slab that an earlier replay still reads: what is
/// measured is the host's own work.
constexpr int kBurstWithInputs = 1;

/// The ways take turns, so that whatever else the machine does meets them all alike.
void measure(std::vector<Way>& ways, int burst_length = kBurst) {
  for (Way& way : ways) {
    way.launch();  // the first one is slow
    way.synchronize();
  }
  for (int burst = 0; burst < kBursts; ++burst) {
    for (Way& way : ways) {
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < burst_length; ++i) way.launch();
      const std::chrono::duration<double, std::micro> time = Clock::now() - start;
      way.synchronize();
      way.us.push_back(time.count() / burst_length);
    }
  }
}

/// Of neighbouring bursts: what the machine does over seconds is in both.
double median_difference(const Way& way, const Way& other) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < way.us.size(); ++i) differences.push_back(way.us[i] - other.us[i]);
  return median(differences);
}

void write(const std::vector<Way>& ways, JsonWriter& json) {
  for (const Way& way : ways) json.member(std::string(way.name) + "_us", median(way.us));
  for (const Way& way : ways) {
    json.member(std::string(way.name) + "_us_p90", percentile(way.us, 90));
  }
}

/// A step of `nodes` tiny kernels with the inputs of a decode step, which it does not look at.
Step tiny_step(Ops& ops, std::size_t nodes, const Buffer& counter, bool inputs) {
  Step step;
  step.name = "tiny";
  if (inputs) {
    step.bindings = {{.name = "tokens", .dtype = DType::i32},
                     {.name = "positions", .dtype = DType::i32},
                     {.name = "alive", .dtype = DType::i32},
                     {.name = "temperatures", .dtype = DType::f32},
                     {.name = "seeds", .dtype = DType::i64},
                     {.name = "block_tables", .dtype = DType::i32, .row = {kPages}}};
  }
  step.undeclared_state = true;  // the counter, which nobody reads
  auto* const address = static_cast<std::uint32_t*>(counter.data());
  step.run = [&ops, nodes, address](StepContext& context) {
    for (std::size_t i = 0; i < nodes; ++i) ops.count_up(address, context.stream());
  };
  return step;
}

struct HostInputs {
  std::vector<std::int32_t> tokens = std::vector<std::int32_t>(kRows, 5);
  std::vector<std::int32_t> positions = std::vector<std::int32_t>(kRows, 128);
  std::vector<std::int32_t> alive = std::vector<std::int32_t>(kRows, 1);
  std::vector<float> temperatures = std::vector<float>(kRows, 0.0F);
  std::vector<std::int64_t> seeds = std::vector<std::int64_t>(kRows, 1);
  std::vector<std::int32_t> tables = std::vector<std::int32_t>(kRows * kPages, 3);

  std::size_t bytes() const {
    return kRows *
           (4 * sizeof(std::int32_t) + sizeof(std::int64_t) + kPages * sizeof(std::int32_t));
  }

  std::array<Input, 6> given(const GraphRunner& runner) {
    TensorView table = host_tensor(std::span<const std::int32_t>(tables));
    table.shape = Shape{kRows, kPages};
    return {{{runner.slot("tokens"), host_tensor(std::span<const std::int32_t>(tokens))},
             {runner.slot("positions"), host_tensor(std::span<const std::int32_t>(positions))},
             {runner.slot("alive"), host_tensor(std::span<const std::int32_t>(alive))},
             {runner.slot("temperatures"), host_tensor(std::span<const float>(temperatures))},
             {runner.slot("seeds"), host_tensor(std::span<const std::int64_t>(seeds))},
             {runner.slot("block_tables"), table}}};
  }
};

void measure_nodes(const Setup& setup, Ops& ops, std::size_t nodes, JsonWriter& json) {
  Stream stream = setup.device->create_stream("set-up");
  const Buffer counter = setup.device->allocate(sizeof(std::uint32_t), "counter");
  stream.fill(counter.view(), 0);
  GraphRunner runner(setup.device, tiny_step(ops, nodes, counter, false));
  runner.capture(std::span<const Input>{});
  GraphPool pool(setup.device, tiny_step(ops, nodes, counter, false), {.sizes = {1, kRows}});
  pool.record();
  std::vector<Way> ways;
  const std::unique_ptr<HandLoop> hand =
      setup.device->kind() == DeviceKind::cuda ? make_hand_loop(nodes, 1) : nullptr;
  if (hand) ways.push_back({"hand", [&] { hand->launch(); }, [&] { hand->synchronize(); }});
  ways.push_back({"runner", [&] { runner.replay(std::span<const Input>{}); },
                  [&] { runner.stream().synchronize(); }});
  ways.push_back({"pool", [&] { pool.run(kRows, std::span<const Input>{}); },
                  [&] { pool.stream().synchronize(); }});
  measure(ways);
  json.begin_object().member("nodes", nodes);
  write(ways, json);
  if (hand) json.member("runner_above_hand_us", median_difference(ways[1], ways[0]));
  json.end_object();
}

void measure_inputs(const Setup& setup, Ops& ops, JsonWriter& json) {
  constexpr std::size_t kNodes = 64;
  Stream stream = setup.device->create_stream("set-up");
  const Buffer counter = setup.device->allocate(sizeof(std::uint32_t), "counter");
  stream.fill(counter.view(), 0);
  GraphRunner runner(setup.device, tiny_step(ops, kNodes, counter, true), {.rows = kRows});
  HostInputs host;
  const std::array<Input, 6> given = host.given(runner);
  runner.capture(given);
  std::vector<Way> ways;
  const std::vector<std::byte> image(host.bytes());
  const std::unique_ptr<HandLoop> hand =
      setup.device->kind() == DeviceKind::cuda ? make_hand_loop(kNodes, image.size()) : nullptr;
  if (hand) {
    ways.push_back({"hand_one_copy", [&] { hand->launch_with_inputs(image.data(), image.size()); },
                    [&] { hand->synchronize(); }});
  }
  const auto synchronize = [&] { runner.stream().synchronize(); };
  ways.push_back({"changed",
                  [&] {
                    for (std::int32_t& position : host.positions) ++position;
                    runner.replay(given);
                  },
                  synchronize});
  ways.push_back({"unchanged", [&] { runner.replay(given); }, synchronize});
  measure(ways, kBurstWithInputs);
  json.begin_object()
      .member("nodes", kNodes)
      .member("rows", kRows)
      .member("inputs", given.size())
      .member("bytes", host.bytes());
  write(ways, json);
  json.end_object();
}

}  // namespace

void measure_launches(const Setup& setup, JsonWriter& json) {
  const std::unique_ptr<Ops> ops = make_ops(*setup.device);
  json.key("launches").begin_array();
  for (const std::size_t nodes : {1, 64, 320}) measure_nodes(setup, *ops, nodes, json);
  json.end_array();
  json.key("inputs");
  measure_inputs(setup, *ops, json);
}

}  // namespace reprise::bench_graph
