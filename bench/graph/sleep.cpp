// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/graph.h>
#include <reprise/sleepable_memory.h>

#include "core/statistics.h"
#include "kernels/ops.h"
#include "sections.h"

namespace reprise::bench_graph {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMiB = 1 << 20;
constexpr int kRepeats = 5;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Times {
  std::vector<double> sleep, wake, first_replay, given_back_mib;
};

/// A counter at the far end of the memory, and a graph that counts it up.
class Sleeper {
 public:
  Sleeper(const Setup& setup, Ops& ops, SleepClass kind, std::size_t bytes)
      : device_(*setup.device),
        stream_(device_.create_stream("sleep")),
        memory_(SleepableMemory::create(setup.device)),
        buffer_(memory_->allocate(bytes, kind, "memory")) {
    counter_ = buffer_.view(buffer_.bytes() - sizeof(std::uint32_t), sizeof(std::uint32_t));
    auto* const address = static_cast<std::uint32_t*>(counter_.data);
    const Graph graph = capture(stream_, [&] { ops.count_up(address, stream_); });
    exec_.emplace(graph.instantiate());
    exec_->upload(stream_);
    stream_.fill(counter_, 0);
    run_once();
  }

  void cycle(Times& times) {
    const auto before = static_cast<double>(device_.memory_info().free);
    Clock::time_point start = Clock::now();
    memory_->sleep();
    times.sleep.push_back(seconds_since(start));
    times.given_back_mib.push_back((static_cast<double>(device_.memory_info().free) - before) /
                                   kMiB);
    start = Clock::now();
    memory_->wake();
    times.wake.push_back(seconds_since(start));
    if (buffer_.sleep_class() == SleepClass::discard) {
      stream_.fill(counter_, 0);
      stream_.synchronize();
      count_ = 0;
    }
    start = Clock::now();
    run_once();
    times.first_replay.push_back(seconds_since(start));
    require_count();
  }

 private:
  void run_once() {
    exec_->launch(stream_);
    stream_.synchronize();
    ++count_;
  }

  void require_count() {
    std::uint32_t found = 0;
    stream_.copy(pageable(std::as_writable_bytes(std::span(&found, 1))), counter_);
    if (found == count_) return;
    throw DeviceError(
        fmt::format("after waking the counter is {}, not {}: the figures are worth "
                    "nothing",
                    found, count_));
  }

  Device& device_;
  Stream stream_;
  std::shared_ptr<SleepableMemory> memory_;
  SleepableBuffer buffer_;
  MemoryView counter_;
  std::optional<GraphExec> exec_;
  std::uint32_t count_ = 0;
};

void measure_class(const Setup& setup, Ops& ops, SleepClass kind, std::size_t bytes,
                   JsonWriter& json) {
  Sleeper sleeper(setup, ops, kind, bytes);
  Times times;
  for (int repeat = 0; repeat < kRepeats; ++repeat) sleeper.cycle(times);
  json.begin_object()
      .member("class", to_string(kind))
      .member("gib", static_cast<double>(bytes) / kMiB / 1024)
      .member("given_back_mib", median(times.given_back_mib))
      .member("sleep_s", median(times.sleep))
      .member("wake_s", median(times.wake))
      .member("wake_s_worst", percentile(times.wake, 100))
      .member("first_replay_s", median(times.first_replay))
      .end_object();
}

}  // namespace

void measure_sleep(const Setup& setup, JsonWriter& json) {
  const std::unique_ptr<Ops> ops = make_ops(*setup.device);
  const std::size_t gib = std::size_t{1} << 30;
  json.key("sleep").begin_array();
  measure_class(setup, *ops, SleepClass::discard, setup.sleep_gib * gib, json);
  measure_class(setup, *ops, SleepClass::save, gib, json);
  json.end_array();
}

}  // namespace reprise::bench_graph
