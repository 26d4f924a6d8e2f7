// SPDX-License-Identifier: Apache-2.0
// The watch's rules, which need no device: which calls are no part of a recording.
#include "device/call_watch.h"

#include <gtest/gtest.h>

#include <reprise/host.h>

namespace reprise {
namespace {

TEST(CallWatchRules, WorkOnTheRecordingStreamIsPartOfIt) {
  for (const std::string_view function : {"cudaLaunchKernel", "cuLaunchKernel", "cudaMemcpyAsync",
                                          "cudaEventRecord", "cudaLaunchHostFunc"}) {
    EXPECT_EQ(effect_of({function, CallTarget::recording, true, false}), std::nullopt) << function;
    EXPECT_EQ(effect_of({function, CallTarget::recording, false, false}), CallEffect::foreign)
        << function;
  }
}

TEST(CallWatchRules, WorkElsewhereByTheRecordingThreadIsMissingFromTheGraph) {
  for (const CallTarget target : {CallTarget::other, CallTarget::standard, CallTarget::none}) {
    EXPECT_EQ(effect_of({"cudaLaunchKernel", target, true, false}), CallEffect::outside);
    EXPECT_EQ(effect_of({"cudaLaunchKernel", target, false, false}), std::nullopt);
    EXPECT_EQ(effect_of({"cudaMemcpy", target, true, false}), CallEffect::outside);
    EXPECT_EQ(effect_of({"cudaMemcpy", target, false, false}), std::nullopt);
    EXPECT_EQ(effect_of({"cudaEventSynchronize", target, true, false}), CallEffect::outside);
  }
}

TEST(CallWatchRules, WaitingForTheDeviceOrTheRecordingStreamEndsItOnAnyThread) {
  for (const bool recording_thread : {true, false}) {
    EXPECT_EQ(effect_of({"cudaDeviceSynchronize", CallTarget::none, recording_thread, false}),
              CallEffect::ends);
    EXPECT_EQ(effect_of({"cuCtxSynchronize", CallTarget::none, recording_thread, false}),
              CallEffect::ends);
    EXPECT_EQ(effect_of({"cudaStreamSynchronize", CallTarget::recording, recording_thread, false}),
              CallEffect::ends);
  }
  EXPECT_EQ(effect_of({"cudaStreamSynchronize", CallTarget::other, false, false}), std::nullopt);
}

TEST(CallWatchRules, AnEventOnAnotherStreamIsNoLostWork) {
  EXPECT_EQ(effect_of({"cudaEventRecord", CallTarget::other, true, false}), std::nullopt);
  EXPECT_EQ(effect_of({"cudaEventRecord", CallTarget::standard, true, false}), std::nullopt);
  EXPECT_EQ(effect_of({"cudaEventRecord", CallTarget::recording, false, false}),
            CallEffect::foreign);
}

TEST(CallWatchRules, ARelaxedThreadMayAskAboutEvents) {
  EXPECT_EQ(effect_of({"cudaEventSynchronize", CallTarget::none, true, true}), std::nullopt);
}

TEST(CallWatchRules, MemoryIsTakenOutsideUnlessTheThreadIsRelaxed) {
  EXPECT_EQ(effect_of({"cudaMalloc", CallTarget::none, true, false}), CallEffect::outside);
  EXPECT_EQ(effect_of({"cudaMalloc", CallTarget::none, true, true}), std::nullopt);
  EXPECT_EQ(effect_of({"cudaFree", CallTarget::none, false, false}), std::nullopt);
}

TEST(CallWatchRules, HarmlessCallsAreNotKept) {
  for (const std::string_view function :
       {"cudaStreamIsCapturing", "cudaGetLastError", "cudaFuncGetAttributes", ""}) {
    EXPECT_EQ(effect_of({function, CallTarget::none, true, false}), std::nullopt) << function;
  }
}

TEST(CallWatchRules, NamesLoseVersionAndVariant) {
  EXPECT_EQ(plain_name("cudaMalloc"), "cudaMalloc");
  EXPECT_EQ(plain_name("cudaLaunchKernel_ptsz"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("cuMemcpyDtoH_v2"), "cuMemcpyDtoH");
  EXPECT_EQ(plain_name("cuMemcpyDtoHAsync_v2_ptsz"), "cuMemcpyDtoHAsync");
  EXPECT_EQ(plain_name("a_v"), "a_v");
  EXPECT_EQ(plain_name(""), "");
}

// There all work goes through Stream, which refuses such calls by itself.
TEST(RecordingWatch, SeesNothingOnTheHost) {
  const auto device = Device::open("host");
  const RecordingWatch watch(device);
  EXPECT_TRUE(watch.calls().empty());
  EXPECT_EQ(watch.seen(), 0u);
  EXPECT_EQ(watch.dropped(), 0u);
}

}  // namespace
}  // namespace reprise
