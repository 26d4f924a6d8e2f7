// SPDX-License-Identifier: Apache-2.0
#include "engine/device_speed.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/graph.h>

#include "core/statistics.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kNodes[] = {1, 64, 320};
constexpr int kRepeats = 9;
constexpr int kEagerLaunches = 200;  // fewer than any device's queue holds
constexpr int kGraphLaunches = 10;
constexpr int kPinnedCopies = 50;
constexpr std::size_t kPinnedBytes = 4096;
constexpr int kFewestCopies = 3;
constexpr int kMostCopies = 20;
constexpr double kEnoughMs = 100;

/// The host reads far less in the time that is worth spending.
ReadEffort effort(const Device& device) {
  return device.kind() == DeviceKind::host
             ? ReadEffort{.most_bytes = std::size_t{128} << 20, .enough_ms = 100}
             : ReadEffort{.most_bytes = std::size_t{1} << 30, .enough_ms = 200};
}

class Meter {
 public:
  Meter(Ops& ops, Stream& stream)
      : ops_(ops),
        stream_(stream),
        device_(stream.device()),
        start_(device_.create_event()),
        end_(device_.create_event()),
        counter_(device_.allocate(sizeof(std::uint32_t), "launch counter")) {
    stream_.fill(counter_.view(), 0);
  }

  DeviceSpeed run() {
    DeviceSpeed speed;
    speed.read = measure_read_bandwidth(ops_, stream_, effort(device_));
    measure_copies(speed);
    speed.eager_launch_us = host_us(kEagerLaunches, [&] { count_up(); });
    for (const std::size_t nodes : kNodes) speed.graphs.push_back(measure_graph(nodes));
    const DeviceSpeed::GraphLaunch& largest = speed.graphs.back();
    speed.node_us = largest.device_us / static_cast<double>(largest.nodes);
    measure_pinned_copies(speed);
    require_all_done();
    return speed;
  }

 private:
  void count_up() {
    ops_.count_up(static_cast<std::uint32_t*>(counter_.data()), stream_);
    ++launched_;
  }

  /// Median over repeats of the host's time per call, `calls` at a time on an idle stream.
  template <class Call>
  double host_us(int calls, const Call& call) {
    std::vector<double> times;
    call();  // the first use of anything is slow
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      stream_.synchronize();
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < calls; ++i) call();
      const std::chrono::duration<double, std::micro> time = Clock::now() - start;
      times.push_back(time.count() / calls);
    }
    stream_.synchronize();
    return median(times);
  }

  /// Between events round `work`.
  template <class Work>
  double device_ms(const Work& work) {
    stream_.record(start_);
    work();
    stream_.record(end_);
    end_.synchronize();
    return end_.elapsed_ms_since(start_);
  }

  DeviceSpeed::GraphLaunch measure_graph(std::size_t nodes) {
    const std::uint64_t before = launched_;
    const Graph graph = capture(stream_, [&] {
      for (std::size_t i = 0; i < nodes; ++i) count_up();
    });
    launched_ = before;  // recording runs nothing
    GraphExec exec = graph.instantiate();
    exec.upload(stream_);
    const auto launch = [&] {
      exec.launch(stream_);
      launched_ += nodes;
    };
    DeviceSpeed::GraphLaunch result{.nodes = nodes};
    result.host_us = host_us(kGraphLaunches, launch);
    std::vector<double> times;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      launch();  // so that the first event does not find the stream idle
      times.push_back(1000 * device_ms(launch));
    }
    result.device_us = median(times);
    return result;
  }

  void measure_copies(DeviceSpeed& speed) {
    // Two of these are still far larger than the caches.
    const std::size_t bytes = std::max<std::size_t>(speed.read.buffer_bytes / 4, 1);
    const Buffer from = device_.allocate(bytes, "copy bandwidth, from");
    const Buffer to = device_.allocate(bytes, "copy bandwidth, to");
    const auto copy = [&] { stream_.copy(to.view(), from.view()); };
    stream_.fill(from.view(), 0x5a);  // memory that nobody wrote may not exist yet
    stream_.fill(to.view(), 0);
    device_ms(copy);
    double fastest = std::numeric_limits<double>::infinity();
    double spent = 0;
    for (; speed.copies < kMostCopies; ++speed.copies) {
      if (speed.copies >= kFewestCopies && spent >= kEnoughMs) break;
      const double ms = device_ms(copy);
      spent += ms;
      fastest = std::min(fastest, ms);
    }
    if (!(fastest > 0)) {
      throw DeviceError(fmt::format("copying {} bytes took no time on {}: its clock is too coarse",
                                    bytes, device_.label()));
    }
    speed.copy_bytes = bytes;
    speed.copy_gb_per_s = 2 * static_cast<double>(bytes) / (fastest * 1e6);
  }

  void measure_pinned_copies(DeviceSpeed& speed) {
    const Buffer pinned = device_.allocate_pinned(kPinnedBytes, "pinned copy, from");
    const Buffer to = device_.allocate(kPinnedBytes, "pinned copy, to");
    stream_.copy(to.view(), pinned.view());
    speed.pinned_copy_bytes = kPinnedBytes;
    speed.pinned_copy_us = host_us(kPinnedCopies, [&] { stream_.copy(to.view(), pinned.view()); });
  }

  /// Times of launches that did not run would be worth nothing.
  void require_all_done() {
    std::uint32_t done = 0;
    counter_.to_host(stream_, std::as_writable_bytes(std::span(&done, 1)));
    if (done == static_cast<std::uint32_t>(launched_)) return;
    throw DeviceError(
        fmt::format("{} launches on {} did their work {} times: its measured launch "
                    "costs are worth nothing",
                    launched_, device_.label(), done));
  }

  Ops& ops_;
  Stream& stream_;
  Device& device_;
  Event start_;
  Event end_;
  Buffer counter_;
  std::uint64_t launched_ = 0;
};

}  // namespace

DeviceSpeed measure_device_speed(Ops& ops, Stream& stream) { return Meter(ops, stream).run(); }

}  // namespace reprise
