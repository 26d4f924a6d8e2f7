// SPDX-License-Identifier: Apache-2.0
// How the bindings of a step lie on the device, and which ones are refused.
#include "graph/binding_table.h"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/error.h>
#include <reprise/host.h>

namespace reprise {
namespace {

const std::vector<std::string> kPlain{""};  // no variants

class BindingTableTest : public ::testing::Test {
 protected:
  static Step step(std::vector<Binding> bindings) {
    Step step;
    step.bindings = std::move(bindings);
    step.run = [](StepContext&) {};
    return step;
  }
  BindingTable table(std::vector<Binding> bindings, int rows = 4) {
    return {*device_, step(std::move(bindings)), rows, kPlain};
  }
  void expect_refused(Binding binding) { EXPECT_THROW(table({std::move(binding)}), UsageError); }
  static Binding padded(DType dtype, double pad) {
    return {.name = "x", .dtype = dtype, .pad = pad};
  }
  TensorView rows_of_four() const {
    return {.data = memory_.data(), .dtype = DType::f32, .shape = Shape{4, 8}};
  }

  std::shared_ptr<Device> device_ = host::open({.threads = 1});
  Buffer memory_ = device_->allocate(4096, "memory");
};

TEST_F(BindingTableTest, NarrowInputsComeFirstAndThoseTheStepWritesLast) {
  Step with_count = step({{.name = "wide", .row = Shape{100}},
                          {.name = "token", .written_by_step = true},
                          {.name = "narrow"},
                          {.name = "middle", .row = Shape{70}}});
  with_count.row_count = "rows";
  BindingTable placed(*device_, with_count, 4, kPlain);
  EXPECT_EQ(placed[2].offset, 256u);   // behind the row count; 16 bytes take 256
  EXPECT_EQ(placed[3].offset, 512u);   // 1120 bytes take 1280
  EXPECT_EQ(placed[0].offset, 1792u);  // 1600 bytes take 1792
  EXPECT_EQ(placed[1].offset, 3584u);
  EXPECT_EQ(placed.device_owned(), 3584u);
  EXPECT_EQ(placed.slab().bytes(), 3840u);
  EXPECT_EQ(placed.row_count().data, placed.slab().data());
}

TEST_F(BindingTableTest, OutputsHaveABufferOfTheirOwn) {
  BindingTable placed = table({{.name = "x"},
                               {.name = "out", .kind = BindingKind::output, .row = Shape{3}},
                               {.name = "more", .kind = BindingKind::output, .row = Shape{2}}});
  EXPECT_EQ(placed.slab().bytes(), 256u);  // no row count is asked for
  EXPECT_EQ(placed.row_count().data, nullptr);
  EXPECT_EQ(placed.outputs().bytes(), 512u);
  EXPECT_EQ(placed[1].offset, 256u);
  EXPECT_EQ(placed[2].offset, 0u);
  EXPECT_EQ(placed.tensor(1, 2).shape, (Shape{2, 3}));
  EXPECT_EQ(placed.tensor(1, 2).data, static_cast<std::byte*>(placed.outputs().data()) + 256);
}

TEST_F(BindingTableTest, PadValuesMustFitTheirType) {
  for (const auto& [dtype, pad] : std::vector<std::pair<DType, double>>{{DType::u8, 0},
                                                                        {DType::u8, 255},
                                                                        {DType::i32, -2147483647.0},
                                                                        {DType::i32, 2147483647.0},
                                                                        {DType::i64, -1},
                                                                        {DType::f32, 0.5},
                                                                        {DType::f32, -1e30}}) {
    EXPECT_NO_THROW(table({padded(dtype, pad)})) << pad;
  }
  for (const auto& [dtype, pad] : std::vector<std::pair<DType, double>>{{DType::u8, -1},
                                                                        {DType::u8, 256},
                                                                        {DType::u8, 0.5},
                                                                        {DType::i32, 2147483648.0},
                                                                        {DType::i32, 0.5},
                                                                        {DType::i64, 1.5}}) {
    expect_refused(padded(dtype, pad));
  }
}

TEST_F(BindingTableTest, WhatBelongsToCopiedInputsOnlyIsRefusedElsewhere) {
  for (const BindingKind kind : {BindingKind::bound, BindingKind::state, BindingKind::output}) {
    expect_refused({.name = "x", .kind = kind, .pad = 1});
    expect_refused({.name = "x", .kind = kind, .written_by_step = true});
    EXPECT_NO_THROW(table({{.name = "x", .kind = kind}}));
  }
  expect_refused({.name = ""});
}

TEST_F(BindingTableTest, SizesEndWhereNoDeviceReaches) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  const auto bound = [](Shape row, bool per_row) {
    return Binding{.name = "w", .kind = BindingKind::bound, .row = row, .per_row = per_row};
  };
  EXPECT_NO_THROW(table({bound(Shape{kMost}, false)}));
  EXPECT_NO_THROW(table({bound(Shape{kMost / 4}, true)}));
  EXPECT_NO_THROW(table({bound(Shape{kMost / 8, 2}, true)}));
  EXPECT_NO_THROW(table({bound(Shape{0, 8}, true)}));
  expect_refused(bound(Shape{kMost + 1}, false));
  expect_refused(bound(Shape{kMost / 4 + 1}, true));
  expect_refused(bound(Shape{kMost / 8, 3}, true));
}

TEST_F(BindingTableTest, OneRowIsEnoughAndNoneIsNot) {
  EXPECT_EQ(table({{.name = "x"}}, 1).max_rows(), 1);
  EXPECT_THROW(table({{.name = "x"}}, 0), UsageError);
  EXPECT_THROW(table({{.name = "x"}}, -1), UsageError);
}

TEST_F(BindingTableTest, SlotsOfOtherStepsAreRefused) {
  const BindingTable placed = table({{.name = "x"}, {.name = "y"}});
  EXPECT_EQ(placed.entry(placed.slot("y")).binding.name, "y");
  EXPECT_THROW(placed.entry(Slot{-1}), UsageError);
  EXPECT_THROW(placed.entry(Slot{2}), UsageError);
  EXPECT_THROW(placed.entry(Slot{}), UsageError);
}

TEST_F(BindingTableTest, OnlyWhatFitsIsBound) {
  BindingTable placed =
      table({{.name = "x"}, {.name = "w", .kind = BindingKind::bound, .row = Shape{8}}});
  const Slot slot = placed.slot("w");
  EXPECT_THROW(placed.tensor(1, 4), UsageError);  // not bound yet
  EXPECT_THROW(placed.bind(placed.slot("x"), rows_of_four()), UsageError);
  TensorView wrong = rows_of_four();
  wrong.data = nullptr;
  EXPECT_THROW(placed.bind(slot, wrong), UsageError);
  wrong = rows_of_four();
  wrong.space = MemorySpace::pinned;
  EXPECT_THROW(placed.bind(slot, wrong), UsageError);
  wrong = rows_of_four();
  wrong.dtype = DType::i32;
  EXPECT_THROW(placed.bind(slot, wrong), UsageError);
  wrong = rows_of_four();
  wrong.shape = Shape{3, 8};
  EXPECT_THROW(placed.bind(slot, wrong), UsageError);
  wrong = rows_of_four();
  wrong.strides = Shape{1, 4};
  EXPECT_THROW(placed.bind(slot, wrong), UsageError);
  placed.bind(slot, rows_of_four());
  EXPECT_EQ(placed.tensor(1, 4).data, memory_.data());
  placed.unbind_all();
  EXPECT_THROW(placed.tensor(1, 4), UsageError);
}

}  // namespace
}  // namespace reprise
