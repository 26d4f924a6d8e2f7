// SPDX-License-Identifier: Apache-2.0
// The watch over CUPTI: raw calls inside a recording are named with thread and stream.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <reprise/control_flow.h>
#include <reprise/cuda.h>
#include <reprise/graph.h>
#include <reprise/recording_watch.h>

#include "device/cuda/cupti.h"

#if __has_include(<cupti_callbacks.h>)
#include <cupti_callbacks.h>

// What cupti.h declares by hand is what CUPTI's own header says.
namespace reprise::cuda {
static_assert(sizeof(CuptiCall) == sizeof(CUpti_CallbackData));
static_assert(offsetof(CuptiCall, function) == offsetof(CUpti_CallbackData, functionName));
static_assert(offsetof(CuptiCall, parameters) == offsetof(CUpti_CallbackData, functionParams));
static_assert(offsetof(CuptiCall, symbol) == offsetof(CUpti_CallbackData, symbolName));
static_assert(offsetof(CuptiCall, context) == offsetof(CUpti_CallbackData, context));
static_assert(static_cast<int>(CuptiDomain::driver) == CUPTI_CB_DOMAIN_DRIVER_API);
static_assert(static_cast<int>(CuptiDomain::runtime) == CUPTI_CB_DOMAIN_RUNTIME_API);
static_assert(static_cast<int>(CuptiSite::enter) == CUPTI_API_ENTER);
static_assert(static_cast<int>(CuptiSite::exit) == CUPTI_API_EXIT);
}  // namespace reprise::cuda
#endif

namespace reprise {
namespace {

__global__ void add_one_kernel(float* x) { x[threadIdx.x] += 1.0F; }

class CudaWatch : public ::testing::Test {
 protected:
  void SetUp() override { main_.fill(x_.view(), 0); }

  /// Something that belongs into the recording.
  void record_add() {
    cuda::enqueue(main_, "add", [&](cudaStream_t native) {
      add_one_kernel<<<1, 32, 0, native>>>(static_cast<float*>(x_.data()));
    });
  }
  static const WatchedCall* find(const std::vector<WatchedCall>& calls, std::string_view function) {
    const auto found = std::find_if(calls.begin(), calls.end(), [&](const WatchedCall& call) {
      return call.function == function;
    });
    return found == calls.end() ? nullptr : &*found;
  }

  std::shared_ptr<Device> device_ = Device::open("cuda");
  Stream main_ = device_->create_stream("main");
  Buffer x_ = device_->allocate(32 * sizeof(float), "x");
};

TEST_F(CudaWatch, ARecordingThroughTheSeamIsClean) {
  const RecordingWatch watch(device_);
  const Buffer y = device_->allocate(x_.bytes(), "y");
  const Buffer condition = device_->allocate(sizeof(std::int32_t), "condition");
  auto pinned = std::make_unique<Buffer>(device_->allocate_pinned(64, "pinned"));
  Stream side = device_->create_stream("side");
  Event fork = device_->create_event();
  Event join = device_->create_event();
  const Graph graph = capture(main_, [&] {
    record_add();
    main_.record(fork);
    side.wait(fork);
    side.copy(y.view(), x_.view());
    side.record(join);
    main_.wait(join);
    main_.fill(x_.view(), 0);
    while_loop(main_, condition.tensor(DType::i32, {}), [&] { main_.fill(condition.view(), 0); });
    pinned.reset();
  });
  GraphExec exec = graph.instantiate();
  exec.launch(main_);
  main_.synchronize();
  for (const WatchedCall& call : watch.calls()) ADD_FAILURE() << call.text;
  EXPECT_GT(watch.seen(), 3u);
}

TEST_F(CudaWatch, NamesWhatLeaksOutOfTheRecording) {
  const RecordingWatch watch(device_);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  float value = 0;
  const Graph graph = capture(main_, [&] {
    record_add();
    auto* const x = static_cast<float*>(x_.data());
    add_one_kernel<<<1, 32, 0, other>>>(x);
    cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost);
  });
  cudaStreamSynchronize(other);
  cudaStreamDestroy(other);
  EXPECT_EQ(graph.node_count(), 1u);
  const std::vector<WatchedCall> calls = watch.calls();
  const WatchedCall* const launch = find(calls, "cudaLaunchKernel");
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->effect, CallEffect::outside);
  EXPECT_EQ(launch->stream, "another stream");
  EXPECT_NE(launch->kernel.find("add_one_kernel"), std::string::npos) << launch->kernel;
  EXPECT_NE(launch->text.find("while stream 'main' recorded"), std::string::npos) << launch->text;
  EXPECT_NE(launch->text.find("1 node so far, the last one 'add'"), std::string::npos)
      << launch->text;
  const WatchedCall* const copy = find(calls, "cudaMemcpy");
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->effect, CallEffect::outside);
  EXPECT_EQ(calls.size(), 2u);
}

TEST_F(CudaWatch, AnotherThreadThatEndsTheRecordingIsNamedInTheError) {
  const RecordingWatch watch(device_);
  std::string text;
  long culprit = 0;
  try {
    capture(main_, [&] {
      record_add();
      std::thread([] { cudaDeviceSynchronize(); }).join();
    });
    ADD_FAILURE() << "the recording was not ended";
  } catch (const CaptureError& error) {
    text = error.what();
    EXPECT_EQ(error.fault(), CaptureFault::invalidated);
  }
  const std::vector<WatchedCall> calls = watch.calls();
  const WatchedCall* const call = find(calls, "cudaDeviceSynchronize");
  ASSERT_NE(call, nullptr);
  culprit = call->thread;
  EXPECT_EQ(call->effect, CallEffect::ends);
  EXPECT_NE(text.find("seen by the watch: thread " + std::to_string(culprit) +
                      " called cudaDeviceSynchronize"),
            std::string::npos)
      << text;
}

TEST_F(CudaWatch, ABodysEndIsBlamedOnWhoEndedIt) {
  const RecordingWatch watch(device_);
  const Buffer flag = device_->allocate(sizeof(std::int32_t), "flag");
  std::string text;
  try {
    capture(main_, [&] {
      while_loop(main_, flag.tensor(DType::i32, {}), [&] {
        record_add();
        std::thread([] { cudaDeviceSynchronize(); }).join();
        record_add();
      });
    });
    ADD_FAILURE() << "the recording was not ended";
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("called cudaDeviceSynchronize"), std::string::npos) << text;
}

// Two threads record; a third waits for the stream of the second. Whether CUDA ends it or not, the
// call is charged to that one.
TEST_F(CudaWatch, ACallIsChargedToTheRecordingOfItsStream) {
  const RecordingWatch watch(device_);
  Stream second = device_->create_stream("second");
  const cudaStream_t native = cuda::native(second);
  std::atomic<int> recording{0};
  std::atomic<bool> done{false};
  std::thread other([&] {
    try {
      capture(second, [&] {
        second.fill(x_.view(), 0);
        ++recording;
        while (!done) std::this_thread::yield();
      });
    } catch (const CaptureError&) {
    }
  });
  const Graph graph = capture(main_, [&] {
    record_add();
    while (recording == 0) std::this_thread::yield();
    std::thread([&] { cudaStreamQuery(native); }).join();
    done = true;
  });
  other.join();
  const std::vector<WatchedCall> calls = watch.calls();
  const WatchedCall* const call = find(calls, "cudaStreamQuery");
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->stream, "stream 'second'");
  EXPECT_NE(call->text.find("while stream 'second' recorded"), std::string::npos) << call->text;
  EXPECT_EQ(calls.size(), 1u);
}

TEST_F(CudaWatch, WorkOfAnotherThreadOnTheRecordingStreamIsNamed) {
  const RecordingWatch watch(device_);
  const cudaStream_t native = cuda::native(main_);
  auto* const x = static_cast<float*>(x_.data());
  const Graph graph = capture(main_, [&] {
    record_add();
    std::thread([&] { add_one_kernel<<<1, 32, 0, native>>>(x); }).join();
  });
  const std::vector<WatchedCall> calls = watch.calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].effect, CallEffect::foreign);
  EXPECT_EQ(calls[0].stream, "stream 'main'");
}

TEST_F(CudaWatch, LeavesAloneWhatHappensOutsideOfRecordings) {
  const RecordingWatch watch(device_);
  float value = 0;
  cudaMemcpy(&value, x_.data(), sizeof value, cudaMemcpyDeviceToHost);
  cudaDeviceSynchronize();
  EXPECT_EQ(watch.seen(), 0u);
  EXPECT_TRUE(watch.calls().empty());
}

TEST_F(CudaWatch, OneAtATimeAndNotInsideARecording) {
  {
    const RecordingWatch first(device_);
    EXPECT_THROW(RecordingWatch{device_}, DeviceError);
  }
  const RecordingWatch again(device_);
  EXPECT_NO_THROW(capture(main_, [&] { record_add(); }));
  EXPECT_THROW(capture(main_,
                       [&] {
                         record_add();
                         const RecordingWatch late(device_);
                       }),
               UsageError);
}

}  // namespace
}  // namespace reprise
