// SPDX-License-Identifier: Apache-2.0
// Memory that is given back for a while, and graphs that outlive that (DESIGN §6, S14).
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <reprise/memory_adaptors.h>
#include <reprise/memory_budget.h>
#include <reprise/sleepable_memory.h>

#include "contracts/pool_fixture.h"

namespace reprise::contract {
namespace {

class Sleep : public PoolTest {
 protected:
  SleepableBuffer make(SleepClass kind, std::string_view label, std::size_t bytes = 1) {
    return memory_->allocate(bytes, kind, label);
  }
  SleepableBuffer make_reloaded(std::string_view label, float value) {
    return memory_->allocate(1, SleepClass::reload, label,
                             [=, this](Stream& stream, MemoryView to) {
                               reloaded_.push_back(value);
                               const std::vector<float> values(kCount, value);
                               stream.copy(to, pageable(std::span(values)));
                             });
  }
  void write(const SleepableBuffer& buffer, float value) {
    const std::vector<float> values(kCount, value);
    main_.copy(buffer.view(), pageable(std::span(values)));
  }
  float read(const SleepableBuffer& buffer, std::size_t offset = 0) {
    std::vector<float> values(kCount);
    main_.copy(pageable(std::span(values)), buffer.view(offset, kCount * sizeof(float)));
    for (const float value : values) EXPECT_EQ(value, values.front());
    return values.front();
  }
  static float* floats_at(const SleepableBuffer& buffer) {
    return static_cast<float*>(buffer.data());
  }
  std::shared_ptr<MemoryPool> pool_in(SleepClass kind) {
    return MemoryPool::create(device_, {.name = "graphs"}, memory_->resource(kind, "graphs"));
  }
  GraphPoolOptions sleeping_options(std::shared_ptr<MemoryPool> memory) {
    GraphPoolOptions made = options({1, 2, 4}, 4);
    made.memory = std::move(memory);
    made.sleeps_with = memory_;
    return made;
  }

  /// Takes all but about `room` bytes of the device.
  Buffer ballast(std::size_t room) {
    for (std::size_t left = room;; left += std::size_t{2} << 20) {
      try {
        return device_->allocate(free_bytes() - left, "ballast");
      } catch (const OutOfMemory&) {
        // A device may keep some of what it calls free to itself.
        if (left > 64 * room) throw;
      }
    }
  }

  /// A GPU gives and takes back memory in larger steps than the host, which is slow to touch it.
  const std::size_t big_ = std::size_t{device_->kind() == DeviceKind::host ? 4U : 16U} << 20;
  std::shared_ptr<SleepableMemory> memory_ = SleepableMemory::create(device_, {.name = "engine"});
  std::vector<float> reloaded_;
};

TEST_F(Sleep, EveryClassKeepsItsPromiseAtTheSameAddresses) {
  const SleepableBuffer saved = make(SleepClass::save, "state");
  const SleepableBuffer first = make_reloaded("first", 5);
  const SleepableBuffer lost = make(SleepClass::discard, "kv");
  const SleepableBuffer second = make_reloaded("second", 6);
  const std::vector<void*> addresses = {saved.data(), first.data(), lost.data(), second.data()};
  const std::uint64_t generation = saved.generation();
  for (float round = 1; round < 3; ++round) {
    write(saved, round);
    write(first, 0);
    memory_->sleep();
    reloaded_.clear();
    memory_->wake();
    EXPECT_EQ(read(saved), round);
    EXPECT_EQ(read(first), 5);
    EXPECT_EQ(read(second), 6);
    EXPECT_EQ(reloaded_, (std::vector<float>{5, 6}));
    write(lost, 7);
    EXPECT_EQ(read(lost), 7);
  }
  EXPECT_EQ((std::vector<void*>{saved.data(), first.data(), lost.data(), second.data()}),
            addresses);
  EXPECT_EQ(saved.generation(), generation);
}

TEST_F(Sleep, GivesTheDevicesMemoryBack) {
  const SleepableBuffer lost = make(SleepClass::discard, "kv", 2 * big_);
  const SleepableBuffer saved = make(SleepClass::save, "state", big_);
  const SleepableBuffer weights =
      memory_->allocate(big_, SleepClass::reload, "weights", [](Stream&, MemoryView) {});
  const std::size_t free_first = free_bytes();
  memory_->sleep();  // the first time may cost the device tables of its own
  memory_->wake();
  const std::size_t free_awake = free_bytes();
  const SleepReport report = memory_->sleep();
  EXPECT_EQ(report.of(SleepClass::discard).bytes, 2 * big_);
  EXPECT_EQ(report.of(SleepClass::save).bytes, big_);
  EXPECT_EQ(report.of(SleepClass::reload).bytes, big_);
  EXPECT_EQ(report.of(SleepClass::reload).allocations, 1u);
  EXPECT_EQ(report.bytes(), 4 * big_);
  EXPECT_EQ(report.host_bytes, big_);
  EXPECT_EQ(memory_->mapped_bytes(), 0u);
  // On the host what is saved lies in the same memory.
  const std::size_t kept = device_->kind() == DeviceKind::host ? report.host_bytes : 0;
  EXPECT_GE(free_bytes() + kept, free_awake + report.bytes());
  const WakeReport woken = memory_->wake();
  EXPECT_EQ(woken.bytes, 4 * big_);
  EXPECT_EQ(woken.mappings, 3u);
  EXPECT_EQ(memory_->mapped_bytes(), 4 * big_);
  EXPECT_EQ(free_bytes(), free_awake);
  if (device_->kind() == DeviceKind::host) {
    EXPECT_EQ(free_bytes(), free_first);
  }
}

TEST_F(Sleep, WhatIsDiscardedCanBeFilled) {
  memory_ = SleepableMemory::create(device_, {.name = "engine", .discard_fill = std::uint8_t{0}});
  const SleepableBuffer lost = make(SleepClass::discard, "kv");
  write(lost, 7);
  memory_->sleep();
  memory_->wake();
  EXPECT_EQ(read(lost), 0);
}

TEST_F(Sleep, AGraphReplaysAfterItWithTheSameBits) {
  SleepableBuffer x = make(SleepClass::save, "x");
  SleepableBuffer y = make(SleepClass::discard, "y");
  write(x, 3);
  GraphExec exec = capture(main_, [&] {
                     kit_->copy_scaled(main_, floats_at(y), floats_at(x), kCount, 2);
                     kit_->add(main_, floats_at(y), kCount, 0.1F);
                   }).instantiate();
  exec.launch(main_);
  const float before = read(y);
  for (int round = 0; round < 2; ++round) {
    memory_->sleep();
    memory_->wake();
    exec.launch(main_);
    EXPECT_EQ(read(y), before);
  }
}

TEST_F(Sleep, WaitsForReplaysInFlightAndSavesWhatTheyWrote) {
  SleepableBuffer x = make(SleepClass::save, "x");
  write(x, 1);
  GraphExec exec = capture(main_, [&] { kit_->add(main_, floats_at(x), kCount, 1); }).instantiate();
  Gate gate(*kit_, *device_, main_);
  for (int i = 0; i < 5; ++i) exec.launch(main_);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  memory_->sleep();
  EXPECT_TRUE(main_.query());
  opener.join();
  memory_->wake();
  EXPECT_EQ(read(x), 6);
}

TEST_F(Sleep, APoolWhoseMemorySleepsReplaysAfterwardsWithoutRecording) {
  for (const SleepClass kind : {SleepClass::discard, SleepClass::save}) {
    SleepableBuffer weights = memory_->allocate(
        weights_.bytes(), SleepClass::reload, "weights",
        [this](Stream& stream, MemoryView to) { stream.copy(to, weights_.view()); });
    main_.copy(weights.view(), weights_.view());
    main_.synchronize();
    GraphPool pool(device_, step(), sleeping_options(pool_in(kind)));
    pool.bind("weights", weights.tensor(DType::f32, Shape{4, kWidth}));
    pool.record();
    const int calls = step_calls_;
    const std::vector<float> x = batch(3, 1);
    pool.run(3, {{"x", rows_of(x)}});
    const std::vector<float> before = read_out(pool);
    EXPECT_EQ(before, expected(x));
    memory_->sleep();
    EXPECT_EQ(memory_->mapped_bytes(), 0u);
    EXPECT_EQ(pool.buckets()[0].state, RunState::asleep);
    memory_->wake();
    EXPECT_EQ(pool.buckets()[0].state, RunState::recorded);
    for (const int rows : {1, 2, 3, 4}) {
      const std::vector<float> values = batch(rows, 2);
      EXPECT_EQ(pool.run(rows, {{"x", rows_of(values)}}).path, RunPath::replay);
      EXPECT_EQ(read_out(pool), expected(values));
    }
    pool.run(3, {{"x", rows_of(x)}});
    EXPECT_EQ(read_out(pool), before);
    EXPECT_EQ(step_calls_, calls);
  }
}

TEST_F(Sleep, RunnersAndPoolsRefuseWhileAsleep) {
  GraphPool pool(device_, step(), sleeping_options(nullptr));
  pool.bind("weights", weight_rows(4));
  pool.record();
  const std::vector<float> x = batch(1, 1);
  GraphRunner runner(device_, step(), {.memory = pool_in(SleepClass::discard)});
  runner.capture({{"x", rows_of(x)}, {"weights", weight_rows(1)}});
  memory_->sleep();
  EXPECT_EQ(runner.state(), RunState::asleep);
  const auto run = [&](RunMode mode) { pool.run(1, {{"x", rows_of(x)}}, mode); };
  for (const std::string& text :
       {usage_error_of([&] { run(RunMode::automatic); }),
        usage_error_of([&] { run(RunMode::eager); }), usage_error_of([&] { runner.replay(); }),
        usage_error_of([&] { runner.run_eager(); })}) {
    expect_parts(text, {"'affine'", "asleep", "wake()"});
  }
  EXPECT_EQ(pool.counters().replays + pool.counters().eager_steps, 0u);
  expect_parts(usage_error_of([&] { (void)runner.memory()->allocate(1, "scratch"); }),
               {"'graphs'", "asleep", "wake()"});
  memory_->wake();
  EXPECT_EQ(runner.state(), RunState::recorded);
  runner.replay();
  EXPECT_EQ(read_out(runner), expected(x));
  run(RunMode::automatic);
  EXPECT_EQ(read_out(pool), expected(x));
}

TEST_F(Sleep, TwiceIsAnErrorAndSoIsWakingTwice) {
  SleepableBuffer saved = make(SleepClass::save, "state");
  write(saved, 4);
  expect_parts(usage_error_of([&] { memory_->wake(); }), {"wake", "'engine'", "is awake"});
  memory_->sleep();
  expect_parts(usage_error_of([&] { memory_->sleep(); }), {"sleep", "'engine'", "is asleep"});
  memory_->wake();
  expect_parts(usage_error_of([&] { memory_->wake(); }), {"wake", "is awake"});
  EXPECT_EQ(read(saved), 4);
}

TEST_F(Sleep, WhatSleepsIsNeitherReadNorLengthenedNorAllocated) {
  SleepableBuffer buffer =
      memory_->allocate(1, SleepClass::discard, "kv", nullptr, 2 * memory_->granularity());
  memory_->sleep();
  EXPECT_TRUE(memory_->asleep());
  expect_parts(usage_error_of([&] { (void)buffer.view(); }), {"'kv'", "'engine'", "asleep"});
  EXPECT_THROW((void)buffer.tensor(DType::f32, Shape{1}), UsageError);
  expect_parts(usage_error_of([&] { buffer.extend(memory_->granularity()); }), {"'kv'", "asleep"});
  expect_parts(usage_error_of([&] { (void)make(SleepClass::save, "new"); }), {"'new'", "asleep"});
  memory_->wake();
  EXPECT_NO_THROW(buffer.extend(memory_->granularity()));
  EXPECT_EQ(buffer.bytes(), 2 * memory_->granularity());
}

TEST_F(Sleep, AWakeUpThatFailsHalfwayLeavesItAsleepAndCanBeTriedAgain) {
  const std::size_t free_before = free_bytes();
  const SleepableBuffer saved = make(SleepClass::save, "state", big_);
  const SleepableBuffer lost = make(SleepClass::discard, "kv", big_);
  bool fails = true;
  const SleepableBuffer weights =
      memory_->allocate(1, SleepClass::reload, "weights", [&](Stream&, MemoryView) {
        if (fails) throw std::runtime_error("the file is gone");
      });
  write(saved, 8);
  memory_->sleep();
  {
    const Buffer most = ballast(big_ + big_ / 2);  // not enough for both
    EXPECT_THROW(memory_->wake(), OutOfMemory);
    EXPECT_TRUE(memory_->asleep());
    EXPECT_EQ(memory_->mapped_bytes(), 0u);
  }
  try {
    memory_->wake();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the file is gone");
  }
  EXPECT_TRUE(memory_->asleep());
  EXPECT_EQ(memory_->mapped_bytes(), 0u);
  fails = false;
  EXPECT_EQ(memory_->wake().mappings, 3u);
  EXPECT_EQ(read(saved), 8);
  EXPECT_LT(free_bytes(), free_before);
}

TEST_F(Sleep, ThatCannotSaveStaysAwake) {
  // Only the host's pinned memory is scarce on demand.
  if (device_->kind() != DeviceKind::host) GTEST_SKIP() << "pinned memory cannot be used up here";
  const SleepableBuffer saved = make(SleepClass::save, "state", big_);
  const SleepableBuffer more = make(SleepClass::save, "more state", big_);
  const SleepableBuffer lost = make(SleepClass::discard, "kv");
  write(saved, 8);
  write(lost, 9);
  const std::size_t free_before = free_bytes();
  {
    const Buffer most = ballast(big_ + big_ / 2);  // not enough for both
    EXPECT_THROW(memory_->sleep(), OutOfMemory);
  }
  EXPECT_FALSE(memory_->asleep());
  EXPECT_EQ(free_bytes(), free_before);
  EXPECT_EQ(read(saved), 8);
  EXPECT_EQ(read(lost), 9);
  EXPECT_EQ(memory_->sleep().host_bytes, 2 * big_);
}

TEST_F(Sleep, BuffersAndMemoryMayBeDestroyedWhileAsleep) {
  (void)make(SleepClass::discard, "warm", big_);  // the first time may cost the device tables
  const std::size_t free_before = free_bytes();
  {
    std::optional<SleepableBuffer> gone = make(SleepClass::save, "gone", big_);
    const SleepableBuffer stays = make(SleepClass::save, "stays");
    const std::shared_ptr<MemoryPool> pool = pool_in(SleepClass::save);
    pool->reserve(1);
    write(stays, 3);
    memory_->sleep();
    gone.reset();
    EXPECT_EQ(memory_->wake().mappings, 2u);
    EXPECT_EQ(read(stays), 3);
    memory_->sleep();
    memory_.reset();
  }
  EXPECT_GE(free_bytes(), free_before);
}

TEST_F(Sleep, ARecordingAndSleepKeepApart) {
  SleepableBuffer x = make(SleepClass::save, "x");
  write(x, 1);
  Buffer other = floats(0);
  const std::string text = fault_of(CaptureFault::refused, [&] {
    capture(main_, [&] {
      add(main_, other, 1);
      memory_->sleep();
    });
  });
  expect_parts(text, {"SleepableMemory::sleep", "'engine'", "recording"});
  EXPECT_FALSE(memory_->asleep());
  std::string foreign;
  capture(main_, [&] {
    add(main_, other, 1);
    std::thread([&] { foreign = usage_error_of([&] { memory_->sleep(); }); }).join();
  });
  expect_parts(foreign, {"SleepableMemory::sleep", "'engine'", "recording is live"});
  EXPECT_EQ(read(x), 1);
}

TEST_F(Sleep, MistakesAreToldInWords) {
  expect_parts(usage_error_of([&] { (void)make(SleepClass::reload, "weights"); }),
               {"'weights'", "reload", "no reload function"});
  expect_parts(usage_error_of([&] {
                 (void)memory_->allocate(1, SleepClass::save, "state", [](Stream&, MemoryView) {});
               }),
               {"'state'", "save", "a reload function"});
  expect_parts(usage_error_of([&] { (void)memory_->resource(SleepClass::reload, "graphs"); }),
               {"'graphs'", "reload", "discard or save"});
  expect_parts(usage_error_of([&] { (void)SleepableMemory::create(nullptr); }), {"no device"});
  const SleepableBuffer inner =
      memory_->allocate(1, SleepClass::reload, "weights",
                        [this](Stream&, MemoryView) { (void)make(SleepClass::save, "inner"); });
  memory_->sleep();
  expect_parts(usage_error_of([&] { memory_->wake(); }), {"'inner'", "waking up"});
  SleepableBuffer empty;
  EXPECT_THROW((void)empty.view(), UsageError);
  EXPECT_THROW(empty.extend(1), UsageError);
}

// S13: addresses for the most there could be, memory for what is left after recording.
TEST_F(Sleep, ACacheGetsWhatIsLeftAfterRecordingWithoutRecordingAgain) {
  const std::size_t granule = memory_->granularity();
  SleepableBuffer kv =
      memory_->allocate(granule, SleepClass::discard, "kv", nullptr, device_->memory_info().total);
  Buffer index = device_->allocate(sizeof(std::uint32_t), "index");
  GraphExec exec = capture(main_, [&] {
                     kit_->add_at(main_, floats_at(kv), static_cast<std::uint32_t*>(index.data()),
                                  granule / sizeof(float), kCount, 1);
                   }).instantiate();
  exec.upload(main_);
  main_.synchronize();
  // On a large device a part of what is left will do.
  const std::size_t free_now = free_bytes();
  const std::size_t margin = free_now > 4 * big_ ? free_now - 4 * big_ : 0;
  const std::size_t more = mappable_bytes(device_->memory_info(), margin, granule);
  ASSERT_GT(more, granule);
  kv.extend(more);
  EXPECT_EQ(kv.bytes(), granule + more);
  const MemoryBudget budget = make_budget(device_->memory_info(), {.kv = kv.bytes()}, margin);
  EXPECT_EQ(budget.context_and_modules + budget.use.kv + budget.margin + budget.free,
            device_->memory_info().total);
  const auto last = static_cast<std::uint32_t>(kv.bytes() / granule - 1);
  const auto expect_reached = [&](std::uint32_t page, float value) {
    main_.fill(kv.view(page * granule, kCount * sizeof(float)), 0);
    index.from_host(main_, std::as_bytes(std::span(&page, 1)));
    exec.launch(main_);
    EXPECT_EQ(read(kv, page * granule), value);
  };
  expect_reached(0, 1);
  expect_reached(last, 1);
  memory_->sleep();
  EXPECT_EQ(memory_->wake().mappings, 1u);  // as one piece from now on
  expect_reached(last, 1);
}

}  // namespace
}  // namespace reprise::contract
