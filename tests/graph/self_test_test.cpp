// SPDX-License-Identifier: Apache-2.0
// The self-test at start: it must have something to compare.
#include <gtest/gtest.h>

#include <reprise/graph_pool.h>
#include <reprise/host.h>

namespace reprise {
namespace {

/// out = x + 1 for the true rows only, as a kernel that knows the row count does it. Where `leaks`,
/// the recording holds another number than the eager run adds.
Step step(bool leaks) {
  Step step;
  step.name = "masked";
  step.row_count = "row_count";
  step.bindings = {{.name = "x"}, {.name = "out", .kind = BindingKind::output}};
  step.run = [leaks](StepContext& context) {
    const auto* count = context.tensor("row_count").as<std::int32_t>();
    const auto* x = context.tensor("x").as<float>();
    auto* const out = context.tensor("out").as<float>();
    const float sum = leaks && context.phase() == StepPhase::recording ? 2 : 1;
    host::enqueue(context.stream(), "add", [=] {
      for (int row = 0; row < *count; ++row) out[row] = x[row] + sum;
    });
  };
  return step;
}

TEST(SelfTest, SeesADifferenceInTrueRows) {
  const auto device = host::open({.threads = 1});
  GraphPool pool(device, step(true), {.sizes = {1, 4}, .on_note = [](std::string_view) {}});
  EXPECT_EQ(pool.record().disabled, (std::vector<int>{1, 4}));
  GraphPool right(device, step(false), {.sizes = {1, 4}});
  EXPECT_TRUE(right.record().disabled.empty());
}

TEST(SelfTest, LeavesNoRowCountBehind) {
  const auto device = host::open({.threads = 1});
  GraphPool pool(device, step(false), {.sizes = {4}});
  pool.record();
  const float x[] = {1, 2, 3};
  pool.run(3, {{"x", host_tensor(std::span<const float>(x))}});
  float out[3] = {};
  pool.read(pool.output("out"), std::span<float>(out));
  EXPECT_EQ(out[2], 4);
}

TEST(Bindings, BeyondAnyDeviceAreRefused) {
  const auto device = host::open({.threads = 1});
  Step huge = step(false);
  huge.bindings[0].row = Shape{std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_THROW(GraphPool(device, huge, {.sizes = {4}}), UsageError);
}

}  // namespace
}  // namespace reprise
