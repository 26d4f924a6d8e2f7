// SPDX-License-Identifier: Apache-2.0
// Each allocation of scratch memory fails in turn, through recording, self-test, replay and eager
// fallback; afterwards everything is usable, and nothing is kept.
#include <memory>

#include <reprise/memory_adaptors.h>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

/// The device's buffers as segments.
class Segments : public MemoryResource {
 public:
  explicit Segments(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  void* allocate(std::size_t bytes) override {
    buffers_.push_back(device_->allocate(bytes, "segment"));
    return buffers_.back().data();
  }
  void deallocate(void* data, std::size_t) noexcept override {
    std::erase_if(buffers_, [data](const Buffer& buffer) { return buffer.data() == data; });
  }

 private:
  std::shared_ptr<Device> device_;
  std::vector<Buffer> buffers_;
};

class PoolOutOfMemory : public PoolTest {
 protected:
  static constexpr int kLadderTop = 8;

  /// A pool of which the nth segment fails; one segment for each block that is larger than all
  /// before.
  std::shared_ptr<MemoryPool> failing_memory(std::uint64_t n) {
    failing_ = std::make_shared<FailingResource>(std::make_shared<Segments>(device_),
                                                 FailingResource::Plan::nth, n);
    counted_ = std::make_shared<StatisticsResource>(failing_);
    return MemoryPool::create(device_, {.name = "scratch", .segment_bytes = 512}, counted_);
  }
  /// Asks for more the more rows there are, in blocks that don't fit one another's places.
  Step hungry_step() {
    Step made = step();
    made.run = [this](StepContext& context) {
      const auto rows = static_cast<std::size_t>(context.rows());
      (void)context.scratch(1500 * rows, "first");
      run_step(context, false);
      (void)context.scratch(700 * (kMaxRows - rows), "last");
    };
    return made;
  }
  GraphPool make_pool(std::shared_ptr<MemoryPool> memory) {
    GraphPoolOptions made = options({1, 2, 4, kLadderTop}, kMaxRows);
    made.memory = std::move(memory);
    GraphPool pool(device_, hungry_step(), std::move(made));
    pool.bind("weights", weight_rows(kMaxRows));
    return pool;
  }
  void expect_right(GraphPool& pool, int rows, RunPath path) {
    const std::vector<float> x = batch(rows, 1);
    EXPECT_EQ(pool.run(rows, {{"x", rows_of(x)}}).path, path);
    EXPECT_EQ(read_out(pool), expected(x));
  }
  void use(GraphPool& pool) {
    if (pool.buckets()[0].state != RunState::recorded) pool.record();
    for (const int rows : {1, 3, kLadderTop}) expect_right(pool, rows, RunPath::replay);
    expect_right(pool, kLadderTop + 1, RunPath::eager);
    expect_right(pool, kMaxRows - 3, RunPath::eager);
  }

  std::shared_ptr<FailingResource> failing_;
  std::shared_ptr<StatisticsResource> counted_;
};

TEST_F(PoolOutOfMemory, AtEachAllocationIsTypedAndLeavesEverythingUsable) {
  std::uint64_t failures = 0;
  for (std::uint64_t n = 1;; ++n) {
    ASSERT_LT(n, 100u);
    bool failed = false;
    {
      const auto memory = failing_memory(n);
      GraphPool pool = make_pool(memory);
      try {
        use(pool);
      } catch (const OutOfMemory& error) {
        failed = true;
        expect_parts(error.what(), {"pool 'scratch'", "was planned to fail"});
        EXPECT_EQ(memory->statistics().allocated_bytes.current, 0u);
        EXPECT_EQ(memory->statistics().num_ooms, 1u);
      }
      // Else the pool gave back what was free and tried again.
      EXPECT_EQ(memory->statistics().num_alloc_retries, failed ? 0 : failing_->failures());
      // The same pool, another one on the same memory, and the streams.
      if (failed) use(pool);
      GraphPool other = make_pool(memory);
      use(other);
      expect_usable(main_);
      EXPECT_EQ(memory->statistics().allocated_bytes.current, 0u);
      EXPECT_EQ(counted_->bytes().current, memory->statistics().reserved_bytes.current);
    }
    EXPECT_EQ(counted_->bytes().current, 0u) << n;
    EXPECT_EQ(counted_->allocations().current, 0u) << n;
    if (failing_->failures() == 0) break;
    failures += failed ? 1 : 0;
  }
  EXPECT_GE(failures, 3u);  // the largest size takes three segments
}

TEST_F(PoolOutOfMemory, OfARunnerIsTypedAndLeavesItCold) {
  int failures = 0;
  for (std::uint64_t n = 1;; ++n) {
    ASSERT_LT(n, 100u);
    const auto memory = failing_memory(n);
    GraphRunner runner(device_, hungry_step(), {.rows = 2, .memory = memory});
    const std::vector<float> x = batch(2, 1);
    const auto use = [&] {
      runner.capture({{"x", rows_of(x)}, {"weights", weight_rows(2)}});
      runner.replay();
      EXPECT_EQ(read_out(runner), expected(x));
    };
    try {
      use();
      break;
    } catch (const OutOfMemory&) {
      ++failures;
      EXPECT_EQ(runner.state(), RunState::cold);
      EXPECT_EQ(memory->statistics().allocated_bytes.current, 0u);
    }
    use();
    expect_usable(main_);
  }
  EXPECT_GE(failures, 3);
}

}  // namespace
}  // namespace reprise::contract
