// SPDX-License-Identifier: Apache-2.0
#include "engine/device_speed.h"

#include <gtest/gtest.h>

#include <reprise/error.h>
#include <reprise/graph.h>
#include <reprise/host.h>

namespace reprise {
namespace {

TEST(DeviceSpeed, IsMeasuredInFull) {
  const auto device = host::open({.threads = 1, .memory_limit = std::size_t{256} << 20});
  Stream stream = device->create_stream("speed");
  const auto ops = make_ops(*device);
  const DeviceSpeed speed = measure_device_speed(*ops, stream);
  EXPECT_GT(speed.read.gb_per_s, 0);
  EXPECT_GT(speed.copy_gb_per_s, 0);
  EXPECT_GE(speed.copies, 3);
  EXPECT_GT(speed.copy_bytes, std::size_t{1} << 18);
  EXPECT_GT(speed.eager_launch_us, 0);
  EXPECT_GT(speed.node_us, 0);
  EXPECT_GT(speed.pinned_copy_us, 0);
  EXPECT_EQ(speed.pinned_copy_bytes, 4096u);
  ASSERT_EQ(speed.graphs.size(), 3u);
  const std::size_t nodes[] = {1, 64, 320};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(speed.graphs[i].nodes, nodes[i]);
    EXPECT_GT(speed.graphs[i].host_us, 0);
    EXPECT_GT(speed.graphs[i].device_us, 0);
  }
  // All memory was given back.
  EXPECT_EQ(device->memory_info().free, device->memory_info().total);
}

TEST(DeviceSpeed, IsRefusedInsideARecording) {
  const auto device = host::open({.threads = 1});
  Stream stream = device->create_stream("speed");
  const auto ops = make_ops(*device);
  EXPECT_THROW((void)capture(stream, [&] { (void)measure_device_speed(*ops, stream); }),
               CaptureError);
}

}  // namespace
}  // namespace reprise
