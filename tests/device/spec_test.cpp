// SPDX-License-Identifier: Apache-2.0
#include "device/spec.h"

#include <string>

#include <gtest/gtest.h>

#include <reprise/error.h>

#include "device/backend.h"

namespace reprise {
namespace {

TEST(DeviceSpec, TakesTheFourSpellings) {
  EXPECT_TRUE(parse_device_spec("auto").automatic);
  EXPECT_EQ(parse_device_spec("host"), (DeviceSpec{false, DeviceKind::host, 0}));
  EXPECT_EQ(parse_device_spec("cuda"), (DeviceSpec{false, DeviceKind::cuda, 0}));
  EXPECT_EQ(parse_device_spec("cuda:0"), (DeviceSpec{false, DeviceKind::cuda, 0}));
  EXPECT_EQ(parse_device_spec("cuda:12"), (DeviceSpec{false, DeviceKind::cuda, 12}));
}

TEST(DeviceSpec, RefusesTheRestAndListsWhatIsAllowed) {
  for (const char* text : {"", "Host", "host:0", "gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:1x",
                           "cuda:+1", "cuda: 1", "cuda:99999999999", "auto:0", "cudas"}) {
    try {
      parse_device_spec(text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("'" + std::string(text) + "'"), std::string::npos) << message;
      EXPECT_NE(message.find("auto, host, cuda or cuda:N"), std::string::npos) << message;
    }
  }
}

TEST(DeviceOpen, HostDescribesItself) {
  const auto device = Device::open("host");
  const DeviceProperties& properties = device->properties();
  EXPECT_EQ(device->label(), "host:0");
  EXPECT_EQ(properties.kind, DeviceKind::host);
  EXPECT_FALSE(properties.name.empty());
  EXPECT_EQ(properties.driver, "none");
  EXPECT_GE(properties.multiprocessors, 1);
  EXPECT_GT(properties.total_memory, std::size_t{1} << 20);
  EXPECT_EQ(properties.compute_capability, 0);
  const MemoryInfo info = device->memory_info();
  EXPECT_LE(info.free, info.total);
  EXPECT_GT(info.free, 0u);
}

TEST(DeviceOpen, CudaWithoutItSaysHowToGetIt) {
  if (cuda_presence().built) GTEST_SKIP() << "this build has CUDA";
  try {
    Device::open("cuda");
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("cuda"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("host"), std::string::npos) << error.what();
  }
  EXPECT_EQ(Device::open("auto")->kind(), DeviceKind::host);
}

TEST(DeviceOpen, AutoFindsADevice) { EXPECT_NE(Device::open("auto"), nullptr); }

}  // namespace
}  // namespace reprise
