// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include <reprise/control_flow.h>
#include <reprise/graph.h>

#include "core/statistics.h"
#include "kernels/ops.h"
#include "sections.h"

namespace reprise::bench_graph {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int32_t kIterations = 200;
constexpr int kRepeats = 15;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// A body of tiny kernels, as the body of a loop and as a graph of its own. The loop's condition
/// counts up from -kIterations, and the loop ends where it is 0.
class Loop {
 public:
  Loop(Device& device, Ops& ops, std::size_t nodes)
      : ops_(ops),
        nodes_(nodes),
        stream_(device.create_stream("loop")),
        condition_(device.allocate(sizeof(std::int32_t), "condition")),
        work_(device.allocate(sizeof(std::uint32_t), "work")),
        start_(device.allocate_pinned(sizeof(std::int32_t), "start")) {
    *static_cast<std::int32_t*>(start_.data()) = -kIterations;
    stream_.fill(work_.view(), 0);
    const TensorView condition = condition_.tensor(DType::i32, {});
    Graph loop = capture(stream_, [&] { while_loop(stream_, condition, [&] { body(); }); });
    Graph step = capture(stream_, [&] { body(); });
    loop_.emplace(loop.instantiate());
    step_.emplace(step.instantiate());
    loop_->upload(stream_);
    step_->upload(stream_);
  }

  void measure(JsonWriter& json) {
    std::vector<double> loop_us, loop_host_us, step_us, step_host_us;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      run(1, *loop_, loop_us, loop_host_us);
      run(kIterations, *step_, step_us, step_host_us);
    }
    json.begin_object()
        .member("nodes", nodes_)
        .member("iterations", kIterations)
        .member("loop_us_per_iteration", median(loop_us) / kIterations)
        .member("loop_host_us_per_iteration", median(loop_host_us) / kIterations)
        .member("launches_us_per_iteration", median(step_us) / kIterations)
        .member("launches_host_us_per_iteration", median(step_host_us) / kIterations)
        .end_object();
  }

 private:
  void body() {
    for (std::size_t i = 1; i < nodes_; ++i) count_up(work_);
    count_up(condition_);
  }

  void count_up(const Buffer& counter) {
    ops_.count_up(static_cast<std::uint32_t*>(counter.data()), stream_);
  }

  void run(int launches, GraphExec& exec, std::vector<double>& total, std::vector<double>& host) {
    stream_.copy(condition_.view(), start_.view());
    stream_.synchronize();
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < launches; ++i) exec.launch(stream_);
    host.push_back(us_since(start));
    stream_.synchronize();
    total.push_back(us_since(start));
  }

  Ops& ops_;
  std::size_t nodes_;
  Stream stream_;
  Buffer condition_;
  Buffer work_;
  Buffer start_;
  std::optional<GraphExec> loop_;
  std::optional<GraphExec> step_;
};

}  // namespace

void measure_loops(const Setup& setup, JsonWriter& json) {
  const std::unique_ptr<Ops> ops = make_ops(*setup.device);
  json.key("loops").begin_array();
  for (const std::size_t nodes : {1, 64, 320}) Loop(*setup.device, *ops, nodes).measure(json);
  json.end_array();
}

}  // namespace reprise::bench_graph
