// SPDX-License-Identifier: Apache-2.0
// Outputs carry the stamp of their run: what has run since is named wherever they are read or
// passed on (DESIGN §6).
#include <memory>
#include <optional>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

class StaleOutput : public PoolTest {
 protected:
  GraphPool make_pool() {
    GraphPool pool(device_, step(), options({1, 4, 8}, 16));
    pool.bind("weights", weight_rows(16));
    pool.record();
    return pool;
  }
  RunResult run(GraphPool& pool, int rows) {
    return pool.run(rows, {{"x", rows_of(batch(rows, 1))}});
  }
};

TEST_F(StaleOutput, NamesOutputBucketAndTheReplayThatOverwroteIt) {
  GraphPool pool = make_pool();
  run(pool, 3);
  const OutputView before = pool.output("out");
  EXPECT_EQ(before.bucket, 4);
  EXPECT_NO_THROW((void)before.checked());
  run(pool, 7);
  std::vector<float> values(static_cast<std::size_t>(3 * kWidth));
  for (const std::string& text :
       {usage_error_of([&] { pool.read(before, std::span(values)); }),
        usage_error_of([&] { (void)before.checked(); }),
        usage_error_of([&] { main_.copy(pageable(std::span(values)), before.memory()); })}) {
    expect_parts(text, {"output 'out' of 'affine'", "(bucket 4)", "a replay of bucket 8",
                        "before the next run"});
  }
  EXPECT_EQ(read_out(pool), expected(batch(7, 1)));
}

TEST_F(StaleOutput, NamesAnEagerRun) {
  GraphPool pool = make_pool();
  run(pool, 1);
  const OutputView before = pool.output("out");
  EXPECT_EQ(run(pool, 16).path, RunPath::eager);
  expect_parts(usage_error_of([&] { (void)before.checked(); }),
               {"(bucket 1)", "eager with 16 rows"});
}

TEST_F(StaleOutput, IsFoundWhereItIsGivenAsAnInput) {
  GraphPool first = make_pool();
  GraphPool second = make_pool();
  const std::vector<float> x = batch(4, 1);
  run(first, 4);
  const OutputView fresh = first.output("out");
  first.stream().synchronize();  // the other pool has a lane of its own
  second.run(4, {{"x", fresh.checked()}});
  EXPECT_EQ(read_out(second), expected(expected(x)));
  run(first, 4);
  expect_parts(usage_error_of([&] {
                 second.run(4, {{"x", fresh.checked()}});
               }),
               {"'out'", "(bucket 4)", "a replay of bucket 4"});
  EXPECT_EQ(read_out(second), expected(expected(x)));  // the refusal changed nothing
}

TEST_F(StaleOutput, SaysThatItsRunnerHasGone) {
  std::optional<OutputView> view;
  {
    GraphRunner runner(device_, step(), {});
    runner.capture({{"x", rows_of(batch(1, 1))}, {"weights", weight_rows(1)}});
    runner.replay();
    view = runner.output("out");
    EXPECT_EQ(view->bucket, 1);
  }
  expect_parts(usage_error_of([&] { (void)view->checked(); }), {"'out' of 'affine'", "has gone"});
  expect_parts(usage_error_of([&] { (void)OutputView().checked(); }), {"empty"});
}

}  // namespace
}  // namespace reprise::contract
