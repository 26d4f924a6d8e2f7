// SPDX-License-Identifier: Apache-2.0
// Inputs that the step overwrites (a token fed back on the device), among others that it does not.
#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

/// first, second and third += 1; out = x + first + 10 second + 100 third.
class WrittenInputs : public PoolTest {
 protected:
  Step feedback() {
    Step step;
    step.name = "feedback";
    step.bindings = {{.name = "x", .row = Shape{kWidth}},
                     {.name = "out", .kind = BindingKind::output, .row = Shape{kWidth}}};
    for (const char* name : kNames) {
      step.bindings.push_back({.name = name, .row = Shape{kWidth}, .written_by_step = true});
    }
    step.run = [this](StepContext& context) { run_feedback(context, true); };
    return step;
  }
  void run_feedback(StepContext& context, bool feeds_back) {
    Stream& stream = context.stream();
    const auto n = static_cast<std::size_t>(context.rows() * kWidth);
    const auto at = [&](const char* name) { return context.tensor(name).as<float>(); };
    kit_->copy_scaled(stream, at("out"), at("x"), n, 1);
    float factor = 1;
    for (const char* name : kNames) {
      kit_->axpy(stream, at("out"), at(name), n, factor);
      if (feeds_back) kit_->add(stream, at(name), n, 1);
      factor *= 10;
    }
  }
  static std::vector<float> all(int rows, float value) {
    return std::vector<float>(static_cast<std::size_t>(rows * kWidth), value);
  }
  static constexpr std::array<const char*, 3> kNames{"first", "second", "third"};
};

TEST_F(WrittenInputs, OneNotGivenStaysWhateverElseIsCopied) {
  for (const int rows : {3, 4}) {
    GraphPool pool(device_, feedback(), options({4}, 4));
    pool.record();
    pool.run(rows, {{"x", rows_of(all(rows, 1000))},
                    {"first", rows_of(all(rows, 1))},
                    {"second", rows_of(all(rows, 2))},
                    {"third", rows_of(all(rows, 3))}});
    EXPECT_EQ(read_out(pool), all(rows, 1321));
    // The device holds 2, 3, 4; the host's last values lie below.
    pool.run(rows, {{"x", rows_of(all(rows, 2000))}, {"third", rows_of(all(rows, 5))}});
    EXPECT_EQ(read_out(pool), all(rows, 2532));
    pool.run(rows, {{"first", rows_of(all(rows, 1))}, {"third", rows_of(all(rows, 1))}});
    EXPECT_EQ(read_out(pool), all(rows, 2141));
    pool.run(rows, {});
    EXPECT_EQ(read_out(pool), all(rows, 2252));
  }
}

TEST_F(WrittenInputs, FromTheDeviceTheyTravelOnce) {
  GraphPool pool(device_, feedback(), options({4}, 4));
  pool.record();
  Buffer first = device_floats(all(4, 7), "first elsewhere");
  pool.run(4, {{"x", rows_of(all(4, 0))},
               {"first", rows_of(first, 4)},
               {"second", rows_of(all(4, 0))},
               {"third", rows_of(all(4, 0))}});
  EXPECT_EQ(read_out(pool), all(4, 7));
  pool.run(4, {{"x", rows_of(all(4, 1000))}, {"second", rows_of(all(4, 0))}});
  EXPECT_EQ(read_out(pool), all(4, 1108));
}

TEST_F(WrittenInputs, TheSelfTestComparesThem) {
  Step forgetful = feedback();
  forgetful.run = [&](StepContext& context) {
    run_feedback(context, context.phase() != StepPhase::recording);
  };
  GraphPool pool(device_, forgetful, options({4}, 4));
  EXPECT_EQ(pool.record().disabled, (std::vector<int>{4}));
  expect_parts(pool.buckets()[0].reason, {"replay differs from eager", "first"});
}

TEST_F(WrittenInputs, TheSelfTestPoisonsTheScratchOfEachSize) {
  Step careless = step();
  careless.run = [&](StepContext& context) {
    run_step(context, false);
    // More per row than a block of the pool, so that the sizes' scratch differs in length.
    constexpr std::size_t kPerRow = 1024;
    const auto rows = static_cast<std::size_t>(context.rows());
    auto* const more = static_cast<float*>(context.scratch(rows * kPerRow * sizeof(float), "more"));
    if (rows == 8) {  // the largest size reads what nobody wrote
      kit_->copy_scaled(context.stream(), context.tensor("out").as<float>(), more + 7 * kPerRow,
                        kWidth, 1);
    }
  };
  GraphPool pool(device_, careless, options({1, 2, 8}, 8));
  pool.bind("weights", weight_rows(8));
  EXPECT_EQ(pool.record().disabled, (std::vector<int>{8}));
}

TEST_F(WrittenInputs, ABoundTensorHasTheRowsOfTheCall) {
  Step looking = step();
  std::vector<std::int64_t> rows;
  looking.run = [&](StepContext& context) {
    run_step(context, false);
    rows.push_back(context.tensor("weights").shape[0]);
  };
  GraphPool pool(device_, looking, options({4}, 6));
  pool.bind("weights", weight_rows(6));
  pool.run(3, {{"x", rows_of(batch(3, 1))}});
  pool.run(5, {{"x", rows_of(batch(5, 1))}});
  EXPECT_EQ(rows, (std::vector<std::int64_t>{4, 5}));
}

}  // namespace
}  // namespace reprise::contract
