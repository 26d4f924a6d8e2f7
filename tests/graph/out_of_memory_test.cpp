// SPDX-License-Identifier: Apache-2.0
// The device runs out of memory at every allocation in turn: construction, recording, runs.
#include <vector>

#include <gtest/gtest.h>

#include <reprise/graph_pool.h>
#include <reprise/graph_runner.h>
#include <reprise/host.h>

namespace reprise {
namespace {

constexpr int kRows = 4;
constexpr int kWidth = 64;

/// out = x + total, total += 1.
Step step() {
  Step step;
  step.bindings = {
      {.name = "x", .row = Shape{kWidth}},
      {.name = "total", .kind = BindingKind::state, .row = Shape{kWidth}},
      {.name = "out", .kind = BindingKind::output, .row = Shape{kWidth}},
  };
  step.run = [](StepContext& context) {
    const int n = context.rows() * kWidth;
    const auto* x = context.tensor("x").as<float>();
    auto* const total = context.tensor("total").as<float>();
    auto* const out = context.tensor("out").as<float>();
    auto* const sum =
        static_cast<float*>(context.scratch(sizeof(float) * static_cast<std::size_t>(n), "sum"));
    host::enqueue(context.stream(), "add", [=] {
      for (int i = 0; i < n; ++i) sum[i] = x[i] + total[i];
    });
    host::enqueue(context.stream(), "store", [=] {
      for (int i = 0; i < n; ++i) {
        out[i] = sum[i];
        total[i] += 1;
      }
    });
  };
  return step;
}

const std::vector<float> kX(kRows* kWidth, 5);

TensorView x_view() {
  return {.data = const_cast<float*>(kX.data()),
          .dtype = DType::f32,
          .shape = Shape{kRows, kWidth},
          .space = MemorySpace::pageable};
}

/// A device whose memory can be taken away but for `room` bytes.
class Squeezed : public ::testing::Test {
 protected:
  static constexpr std::size_t kMemory = std::size_t{1} << 20;

  Squeezed() {
    Stream stream = device_->create_stream("fill");
    stream.fill(total_.view(), 0);
    stream.synchronize();
  }
  float total() {
    Stream stream = device_->create_stream("read");
    float value = -1;
    total_.to_host(stream, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  TensorView total_view() const { return total_.tensor(DType::f32, Shape{kRows, kWidth}); }
  std::shared_ptr<MemoryPool> memory() {
    return MemoryPool::create(device_, {.name = "small", .segment_bytes = 512});
  }
  /// Leaves `room` bytes until it is destroyed.
  Buffer ballast(std::size_t room) {
    return device_->allocate(device_->memory_info().free - room, "ballast");
  }

  std::shared_ptr<Device> device_ = host::open({.threads = 1, .memory_limit = kMemory});
  Buffer total_ = device_->allocate(kX.size() * sizeof(float), "total");
};

TEST_F(Squeezed, APoolIsRightAfterEachFailure) {
  int in_constructor = 0;
  int in_use = 0;
  const std::size_t free_before = device_->memory_info().free;
  float runs = 0;
  for (std::size_t room = 0;; room += 256) {
    bool failed = false;
    {
      Buffer weight = ballast(room);
      std::unique_ptr<GraphPool> pool;
      const auto use = [&] {
        if (pool == nullptr) {
          pool = std::make_unique<GraphPool>(
              device_, step(), GraphPoolOptions{.sizes = {1, kRows}, .memory = memory()});
          pool->bind("total", total_view());
        }
        if (pool->buckets()[0].state != RunState::recorded) pool->record();
        EXPECT_EQ(total(), runs);
        EXPECT_EQ(pool->run(kRows, {{"x", x_view()}}).path, RunPath::replay);
        std::vector<float> out(kX.size());
        pool->read(pool->output("out"), std::span(out));
        EXPECT_EQ(out, std::vector<float>(kX.size(), 5 + runs)) << room;
        runs += 1;
      };
      try {
        use();
      } catch (const OutOfMemory&) {
        failed = true;
        (pool == nullptr ? in_constructor : in_use) += 1;
        EXPECT_EQ(total(), runs);
        weight = Buffer();
        use();
      }
    }
    EXPECT_EQ(device_->memory_info().free, free_before) << room;  // nothing is kept
    if (!failed) break;
  }
  EXPECT_GT(in_constructor, 5);
  EXPECT_GT(in_use, 5);
}

// State has no place to be saved in: each call leaves all as it was, and succeeds once there is
// one.
TEST_F(Squeezed, BetweenRunsAFailedCallIsRightTheNextTime) {
  Buffer moved = device_->allocate(kX.size() * sizeof(float), "moved");
  const TensorView elsewhere = moved.tensor(DType::f32, Shape{kRows, kWidth});
  int failures = 0;
  for (std::size_t room = 0;; room += 256) {
    const int before = failures;
    GraphPool pool(
        device_, step(),
        {.sizes = {1, kRows},
         .variants = {{.name = "plain"}, {.name = "rare", .when = RecordWhen::on_request}},
         .postpone_self_test = true,
         .memory = memory(),
         .on_note = [](std::string_view) {}});
    pool.bind("total", total_view());
    pool.record();
    Buffer weight = ballast(room);
    const auto twice_if_need_be = [&](const auto& call) {
      try {
        if (call()) return;
      } catch (const OutOfMemory&) {
      }
      ++failures;
      EXPECT_EQ(pool.run(kRows, {}).path, RunPath::replay);
      weight = Buffer();
      EXPECT_TRUE(call());
      weight = ballast(room);
    };
    pool.run(kRows, {{"x", x_view()}});
    twice_if_need_be([&] {
      const auto result = pool.self_test_next();
      return result && result->rows == kRows && result->passed;
    });
    twice_if_need_be([&] { return pool.record_variant(kRows, "rare").recorded.size() == 1; });
    EXPECT_EQ(pool.run(kRows, {}, "rare").path, RunPath::replay);
    pool.stream().synchronize();
    const float runs = total();
    EXPECT_THROW(pool.run(kRows, {{"total", elsewhere}}), UsageError);
    try {
      EXPECT_EQ(pool.rebind("total", elsewhere).recorded.size(), 3u);
    } catch (const OutOfMemory&) {
      ++failures;
      EXPECT_THROW(pool.run(kRows, {}), UsageError);  // still stale
      weight = Buffer();
      EXPECT_EQ(pool.rebind("total", elsewhere).recorded.size(), 3u);
    }
    EXPECT_EQ(pool.run(kRows, {}).path, RunPath::replay);
    pool.stream().synchronize();
    EXPECT_EQ(total(), runs);  // it runs elsewhere now
    if (failures == before) break;
  }
  EXPECT_GT(failures, 5);
}

TEST_F(Squeezed, ARunnerIsRightAfterEachFailure) {
  int failures = 0;
  float runs = 0;
  for (std::size_t room = 0;; room += 256) {
    Buffer weight = ballast(room);
    std::unique_ptr<GraphRunner> runner;
    const auto use = [&] {
      if (runner == nullptr) {
        runner = std::make_unique<GraphRunner>(device_, step(),
                                               RunnerOptions{.rows = kRows, .memory = memory()});
      }
      runner->capture({{"x", x_view()}, {"total", total_view()}});
      EXPECT_EQ(total(), runs);
      runner->replay();
      std::vector<float> out(kX.size());
      runner->read(runner->output("out"), std::span(out));
      EXPECT_EQ(out, std::vector<float>(kX.size(), 5 + runs)) << room;
      runs += 1;
    };
    try {
      use();
      break;
    } catch (const OutOfMemory&) {
      ++failures;
      if (runner) {
        EXPECT_EQ(runner->state(), RunState::cold);
      }
      EXPECT_EQ(total(), runs);
      weight = Buffer();
      use();
    }
  }
  EXPECT_GT(failures, 5);
}

}  // namespace
}  // namespace reprise
