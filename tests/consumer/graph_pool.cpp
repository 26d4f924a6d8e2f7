// SPDX-License-Identifier: Apache-2.0
// Sums rows of numbers by a pool of graphs, in batches of any size, and compares with a plain loop.
#include <cstdio>
#include <span>
#include <vector>

#include <reprise/graph_pool.h>
#include <reprise/host.h>

namespace {

constexpr int kWidth = 16;

reprise::Step row_sums() {
  reprise::Step step;
  step.name = "row sums";
  step.bindings = {{.name = "rows", .row = {kWidth}},
                   {.name = "sums", .kind = reprise::BindingKind::output}};
  step.run = [](reprise::StepContext& context) {
    const auto* in = context.tensor("rows").as<float>();
    auto* const out = context.tensor("sums").as<float>();
    reprise::host::enqueue(context.stream(), "sum", [in, out, rows = context.rows()] {
      for (int row = 0; row < rows; ++row) {
        out[row] = 0;
        for (int i = 0; i < kWidth; ++i) out[row] += in[row * kWidth + i];
      }
    });
  };
  return step;
}

}  // namespace

int main() {
  reprise::GraphPool pool(reprise::Device::open("host"), row_sums(), {.sizes = {1, 2, 4, 8}});
  pool.record();
  for (const int rows : {1, 3, 8, 5}) {
    std::vector<float> values(static_cast<std::size_t>(rows * kWidth));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    reprise::TensorView view = reprise::host_tensor(std::span<const float>(values));
    view.shape = {rows, kWidth};
    const reprise::RunResult result = pool.run(rows, {{"rows", view}});
    std::vector<float> sums(static_cast<std::size_t>(rows));
    pool.read(pool.output("sums"), std::span(sums));
    for (int row = 0; row < rows; ++row) {
      const auto first = static_cast<float>(row * kWidth);
      const float expected = kWidth * first + kWidth * (kWidth - 1) / 2.0F;
      if (sums[static_cast<std::size_t>(row)] != expected) {
        std::printf("%d rows: the sum of row %d is wrong\n", rows, row);
        return 1;
      }
    }
    if (result.path != reprise::RunPath::replay) {
      std::printf("%d rows were not replayed\n", rows);
      return 1;
    }
  }
  std::printf("%llu replays, as the plain loops\n",
              static_cast<unsigned long long>(pool.counters().replays));
  return 0;
}
