// SPDX-License-Identifier: Apache-2.0
// Reading memory for its speed's sake: every byte is read, and the figure is plausible.

#include <reprise/graph.h>

#include "kernels/bandwidth.h"
#include "kernels/support/world.h"

namespace reprise::testing {
namespace {

std::uint32_t xor_of(const std::vector<std::byte>& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum ^= std::to_integer<std::uint32_t>(bytes[i]) << (8 * (i % 4));  // little-endian
  }
  return sum;
}

std::uint32_t read(Primitives& primitives, World& world, const std::vector<std::byte>& bytes) {
  std::uint32_t sink = 0xdeadbeef;
  primitives.read_all(bytes.data(), bytes.size(), &sink, world.stream());
  world.stream().synchronize();
  return sink;
}

TEST(ReadAll, ReadsEveryByteOnce) {
  World world;
  SCOPED_TRACE(world.trace());
  const auto simd = world.simd(SimdLevel::best);
  for (const std::size_t size :
       {0u, 1u, 3u, 4u, 511u, 512u, 513u, 5000u, 3u << 20, (4u << 20) + 7u}) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(world.random()());
    const std::uint32_t expected = xor_of(bytes);
    EXPECT_EQ(read(world.reference(), world, bytes), expected) << size;
    EXPECT_EQ(read(*simd, world, bytes), expected) << size;
    if (size == 0) continue;
    bytes[size / 2] ^= std::byte{0x40};  // one bit anywhere shows
    EXPECT_NE(read(*simd, world, bytes), expected) << size;
  }
}

TEST(ReadAll, CanBeRecordedLikeAnyOperation) {
  World world;
  const auto simd = world.simd(SimdLevel::best);
  std::vector<std::byte> bytes(1000, std::byte{1});
  std::uint32_t sink = 7;
  const Graph graph = capture(
      world.stream(), [&] { simd->read_all(bytes.data(), bytes.size(), &sink, world.stream()); });
  EXPECT_EQ(graph.nodes().at(0).label, "read_all");
  EXPECT_EQ(sink, 7u);
}

TEST(ReadBandwidth, IsMeasuredWithinReason) {
  const auto device = host::open({.threads = 2, .memory_limit = std::size_t{256} << 20});
  ComposedOps ops(make_simd_primitives(*device));
  Stream stream = device->create_stream("measure");
  const ReadBandwidth read = measure_read_bandwidth(ops, stream);
  EXPECT_GE(read.reads, 3);
  EXPECT_EQ(read.buffer_bytes, std::size_t{32} << 20);  // an eighth of what is free
  EXPECT_GE(read.bytes, std::size_t{1} << 20);
  EXPECT_LE(read.bytes, read.buffer_bytes);
  EXPECT_GT(read.gb_per_s, 0.01);
  EXPECT_LT(read.gb_per_s, 1e5);
}

}  // namespace
}  // namespace reprise::testing
