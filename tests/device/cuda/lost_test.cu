// SPDX-License-Identifier: Apache-2.0
// A kernel's fault takes the process's context with it, so each case runs in a process of its own
// (DESIGN §4.2): gtest's death tests start the program anew for that.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <reprise/cuda.h>
#include <reprise/debug_replay.h>
#include <reprise/graph.h>

namespace reprise {
namespace {

__global__ void fault_kernel() { __trap(); }

void lose(Stream& stream) {
  cuda::enqueue(stream, "fault", [](cudaStream_t native) { fault_kernel<<<1, 1, 0, native>>>(); });
}

/// Counts calls that do not tell the loss.
class Expectations {
 public:
  void lost(const char* call, const std::function<void()>& body) {
    std::string text = "nothing was thrown";
    try {
      body();
    } catch (const DeviceError& error) {
      text = error.what();
      if (first_.empty()) first_ = text;
      // The first cause, whatever is called later.
      if (text == first_ && text.find("device cuda:0 is lost: ") == 0 &&
          text.find("start the process anew") != std::string::npos) {
        return;
      }
    } catch (const std::exception& error) {
      text = error.what();
    }
    std::fprintf(stderr, "%s: %s\n", call, text.c_str());
    ++failures_;
  }
  void holds(const char* what, bool value) {
    if (value) return;
    std::fprintf(stderr, "%s does not hold\n", what);
    ++failures_;
  }
  int failures() const { return failures_; }

 private:
  std::string first_;
  int failures_ = 0;
};

int every_call_tells_it() {
  Expectations expect;
  {
    const auto device = Device::open("cuda");
    Stream main = device->create_stream("main");
    Stream side = device->create_stream("side");
    Event event = device->create_event();
    Buffer x = device->allocate(64, "x");
    std::vector<std::byte> bytes(4);
    const Graph graph = capture(main, [&] { main.fill(x.view(), 0); });
    GraphExec exec = graph.instantiate();
    lose(main);
    expect.lost("the first synchronize", [&] { main.synchronize(); });
    expect.holds("lost()", device->lost());
    expect.lost("Stream::synchronize", [&] { side.synchronize(); });
    expect.lost("Stream::query", [&] { main.query(); });
    expect.lost("Device::synchronize", [&] { device->synchronize(); });
    expect.lost("Stream::record", [&] { side.record(event); });
    expect.lost("Stream::fill", [&] { side.fill(x.view(), 0); });
    expect.lost("Buffer::to_host", [&] { x.to_host(side, bytes); });
    expect.lost("GraphExec::launch", [&] { exec.launch(side); });
    expect.lost("Graph::instantiate", [&] { graph.instantiate(); });
    expect.lost("GraphExec::update", [&] { exec.update(graph); });
    expect.lost("capture", [&] { capture(side, [] {}); });
    expect.lost("Device::allocate", [&] { device->allocate(64, "y"); });
    expect.lost("Device::create_stream", [&] { device->create_stream("another"); });
    expect.lost("cuda::native", [&] { cuda::native(side); });
  }  // destructors neither throw nor hang
  return expect.failures();
}

int a_replay_tells_it() {
  Expectations expect;
  {
    const auto device = Device::open("cuda");
    Stream main = device->create_stream("main");
    GraphExec exec = capture(main, [&] { lose(main); }).instantiate();
    main.synchronize();
    expect.holds("recording executes nothing", !device->lost());
    exec.launch(main);
    expect.lost("Stream::synchronize", [&] { main.synchronize(); });
  }
  return expect.failures();
}

int a_debug_replay_names_the_node() {
  Expectations expect;
  {
    const auto device = Device::open("cuda");
    Stream main = device->create_stream("main");
    Buffer x = device->allocate(64, "x");
    const Graph graph = capture(main, [&] {
      main.fill(x.view(), 0);
      const LabelScope layer(main, "layer 3");
      lose(main);
      main.fill(x.view(), 1);
    });
    std::string text = "nothing was thrown";
    try {
      debug_replay(graph, main);
    } catch (const DeviceError& error) {
      text = error.what();
    }
    std::fprintf(stderr, "%s\n", text.c_str());
    expect.holds("the fault's text", text.find("device cuda:0 is lost: ") == 0);
    expect.holds("the node's name",
                 text.find("failed in node 1 (kernel 'layer 3 / fault'") != std::string::npos);
    expect.lost("Stream::synchronize", [&] { main.synchronize(); });
  }
  return expect.failures();
}

int a_recording_ends_with_it() {
  Expectations expect;
  {
    const auto device = Device::open("cuda");
    Stream main = device->create_stream("main");
    Stream side = device->create_stream("side");
    Buffer x = device->allocate(64, "x");
    expect.lost("capture", [&] {
      capture(main, [&] {
        main.fill(x.view(), 0);
        std::thread([&] {
          lose(side);
          expect.lost("Stream::synchronize", [&] { side.synchronize(); });
        }).join();
      });
    });
    expect.holds("the stream does not record", !main.recording());
  }
  return expect.failures();
}

class LostCudaDevice : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(LostCudaDevice, EveryCallTellsTheFirstCause) {
  EXPECT_EXIT(std::_Exit(every_call_tells_it()), ::testing::ExitedWithCode(0), "");
}
TEST_F(LostCudaDevice, AReplayTellsIt) {
  EXPECT_EXIT(std::_Exit(a_replay_tells_it()), ::testing::ExitedWithCode(0), "");
}
TEST_F(LostCudaDevice, ADebugReplayNamesTheNode) {
  EXPECT_EXIT(std::_Exit(a_debug_replay_names_the_node()), ::testing::ExitedWithCode(0), "");
}
TEST_F(LostCudaDevice, ARecordingEndsWithIt) {
  EXPECT_EXIT(std::_Exit(a_recording_ends_with_it()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace reprise
