// SPDX-License-Identifier: Apache-2.0
// A service that smooths signals in batches of any size: one graph per batch size over one memory
// pool, padding to the next size, and an eager run, counted, for what is larger than all of them.
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include <reprise/graph_pool.h>
#include <reprise/host.h>

namespace {

constexpr int kSamples = 256;

void smooth(const float* in, float* out, int rows) {
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < kSamples; ++i) {
      const float left = in[row * kSamples + (i > 0 ? i - 1 : 0)];
      const float right = in[row * kSamples + (i + 1 < kSamples ? i + 1 : i)];
      out[row * kSamples + i] = (left + in[row * kSamples + i] + right) / 3;
    }
  }
}

}  // namespace

int main() {
  const auto device = reprise::Device::open("host");
  reprise::Step step;
  step.name = "smooth";
  step.bindings = {
      {.name = "signals", .kind = reprise::BindingKind::copied, .row = {kSamples}},
      {.name = "smoothed", .kind = reprise::BindingKind::output, .row = {kSamples}},
  };
  step.run = [](reprise::StepContext& context) {
    const int rows = context.rows();
    const auto* in = context.tensor("signals").as<float>();
    auto* const out = context.tensor("smoothed").as<float>();
    auto* const once = static_cast<float*>(
        context.scratch(sizeof(float) * static_cast<std::size_t>(rows * kSamples), "once"));
    reprise::host::enqueue(context.stream(), "first pass", [=] { smooth(in, once, rows); });
    reprise::host::enqueue(context.stream(), "second pass", [=] { smooth(once, out, rows); });
  };

  reprise::GraphPool pool(device, step, {.sizes = {1, 2, 4, 8}, .max_rows = 12});
  const reprise::RecordReport report = pool.record();
  std::printf("recorded %zu sizes, %zu KiB of memory for all of them\n", report.recorded.size(),
              report.pool_bytes / 1024);

  for (const int rows : {1, 3, 8, 5, 12}) {
    std::vector<float> signals(static_cast<std::size_t>(rows * kSamples));
    for (std::size_t i = 0; i < signals.size(); ++i) signals[i] = i % 2 == 0 ? 1.0F : -1.0F;
    reprise::TensorView view = reprise::host_tensor(std::span<const float>(signals));
    view.shape = {rows, kSamples};
    const reprise::RunResult result = pool.run(rows, {{"signals", view}});
    std::vector<float> smoothed(signals.size());
    pool.read(pool.output("smoothed"), std::span(smoothed));
    std::printf("%2d rows: %s at size %d, noise 1.00 -> %.2f\n", rows,
                result.path == reprise::RunPath::replay ? "replayed" : "eager", result.bucket,
                std::fabs(smoothed[kSamples / 2]));
    if (std::fabs(smoothed[kSamples / 2]) > 0.2F) return 1;
  }
  std::printf("%s", reprise::memory_summary(*pool.memory()).c_str());
  const reprise::PoolCounters counters = pool.counters();
  return counters.replays == 4 && counters.all_fallbacks() == 1 ? 0 : 1;
}
