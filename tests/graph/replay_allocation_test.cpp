// SPDX-License-Identifier: Apache-2.0
// A warm replay through GraphPool and GraphRunner allocates nothing, whatever its inputs do
// (DESIGN §4.10).
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/graph_pool.h>
#include <reprise/graph_runner.h>
#include <reprise/host.h>

#include "support/counting_new.h"

namespace reprise {
namespace {

constexpr int kRows = 16;
constexpr int kWide = 200;

class ReplayAllocation : public ::testing::Test {
 protected:
  static Step step() {
    Step step;
    step.name = "a step with a name too long for a short string of the library";
    step.row_count = "row_count";
    step.bindings = {
        {.name = "tokens", .dtype = DType::i32, .written_by_step = true},
        {.name = "more tokens", .dtype = DType::i32, .written_by_step = true},
        {.name = "positions", .dtype = DType::i32, .pad = -1},
        {.name = "tables", .dtype = DType::i32, .row = Shape{kWide}},
        {.name = "next", .kind = BindingKind::output, .dtype = DType::i32},
    };
    step.run = [](StepContext& context) {
      const int rows = context.rows();
      auto* const tokens = context.tensor("tokens").as<std::int32_t>();
      const auto* positions = context.tensor("positions").as<std::int32_t>();
      auto* const next = context.tensor("next").as<std::int32_t>();
      host::enqueue(context.stream(), "add", [=] {
        for (int row = 0; row < rows; ++row) next[row] = tokens[row] += positions[row];
      });
    };
    return step;
  }

  TensorView view(std::vector<std::int32_t>& values, int rows, int width) {
    return {.data = values.data(),
            .dtype = DType::i32,
            .shape = width == 1 ? Shape{rows} : Shape{rows, width},
            .space = MemorySpace::pageable};
  }
  /// Other values every time: scattered over the tables, or none at all.
  void change_inputs() {
    ++round_;
    for (std::size_t i = 0; i < positions_.size(); ++i) positions_[i] = round_ % 7;
    if (round_ % 3 == 0) tables_[static_cast<std::size_t>(round_ * 37) % tables_.size()] = round_;
  }
  std::array<Input, 4> inputs(const std::array<Slot, 4>& slots, int rows, bool from_device) {
    TensorView more = view(tokens_, rows, 1);
    if (from_device) {
      more.data = elsewhere_.data();
      more.space = MemorySpace::device;
    }
    return {{{slots[0], view(tokens_, rows, 1)},
             {slots[1], more},
             {slots[2], view(positions_, rows, 1)},
             {slots[3], view(tables_, rows, kWide)}}};
  }
  template <class Replayer>
  static std::array<Slot, 4> slots_of(const Replayer& replayer) {
    return {replayer.slot("tokens"), replayer.slot("more tokens"), replayer.slot("positions"),
            replayer.slot("tables")};
  }

  std::shared_ptr<Device> device_ = host::open({.threads = 2});
  Buffer elsewhere_ = device_->allocate(kRows * sizeof(std::int32_t), "elsewhere");
  std::vector<std::int32_t> tokens_ = std::vector<std::int32_t>(kRows, 3);
  std::vector<std::int32_t> positions_ = std::vector<std::int32_t>(kRows, 0);
  std::vector<std::int32_t> tables_ = std::vector<std::int32_t>(kRows * kWide, 0);
  int round_ = 0;
};

TEST_F(ReplayAllocation, NoneInAPool) {
  GraphPool pool(device_, step(), {.sizes = {1, 2, 4, 8, kRows}});
  ASSERT_TRUE(pool.record().disabled.empty());
  Stream other = device_->create_stream("other");
  const std::array<Slot, 4> slots = slots_of(pool);
  std::array<std::int32_t, kRows> next{};
  const auto rounds = [&] {
    for (int i = 0; i < 200; ++i) {
      change_inputs();
      const int rows = 1 + round_ % kRows;
      Stream& stream = round_ % 5 == 0 ? other : pool.stream();
      const auto given = inputs(slots, rows, round_ % 4 == 0);
      if (pool.run(stream, rows, given).path != RunPath::replay) std::abort();
      pool.run(rows, {{"positions", view(positions_, rows, 1)}});
      pool.run(rows, {});
      pool.read(pool.output("next"), std::span(next).first(static_cast<std::size_t>(rows)));
    }
  };
  rounds();
  EXPECT_EQ(test::allocations_in(rounds), 0);
  EXPECT_EQ(next[0], 3 + 3 * positions_[0]);
  EXPECT_GT(test::allocations_in([&] { pool.run(1, inputs(slots, 1, false), RunMode::eager); }), 0);
}

TEST_F(ReplayAllocation, NoneWhereASharedExecutableIsRePointed) {
  GraphPool pool(device_, step(), {.sizes = {1, 2, 4, 8, kRows}, .share_executables = true});
  ASSERT_TRUE(pool.record().disabled.empty());
  ASSERT_EQ(pool.executables().live, 1u);
  const std::array<Slot, 4> slots = slots_of(pool);
  const auto rounds = [&] {
    for (int i = 0; i < 200; ++i) {
      change_inputs();
      pool.run(1 + round_ % kRows, inputs(slots, 1 + round_ % kRows, false));
    }
  };
  const std::uint64_t before = pool.executables().switched;
  rounds();  // says once that it thrashes, or not
  EXPECT_GT(pool.executables().switched, before);
  EXPECT_EQ(test::allocations_in(rounds), 0);
}

TEST_F(ReplayAllocation, NoneInARunner) {
  GraphRunner runner(device_, step(), {.rows = kRows});
  const std::array<Slot, 4> slots = slots_of(runner);
  runner.capture(inputs(slots, kRows, false));
  std::array<std::int32_t, kRows> next{};
  const auto rounds = [&] {
    for (int i = 0; i < 200; ++i) {
      change_inputs();
      runner.replay(inputs(slots, kRows, round_ % 2 == 0));
      runner.replay();
      runner.read(runner.output("next"), std::span<std::int32_t>(next));
    }
  };
  rounds();
  EXPECT_EQ(test::allocations_in(rounds), 0);
  EXPECT_EQ(next[0], 3 + 2 * positions_[0]);
}

}  // namespace
}  // namespace reprise
