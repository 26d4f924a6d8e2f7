// SPDX-License-Identifier: Apache-2.0
// Weights on the device: the bits of a checkpoint, and the bits of random models.
#include "core/random_weights.h"
#include "kernels/cuda/random_cases.h"

namespace reprise::testing {
namespace {

Bytes download(GpuWorld& world, const Weight& weight) {
  Bytes bytes(weight.bytes());
  const MemoryView source{const_cast<void*>(weight.parts[0].data), bytes.size(),
                          MemorySpace::device};
  world.gpu_stream().copy(pageable(std::span(bytes)), source);
  world.gpu_stream().synchronize();
  return bytes;
}

/// All parts of a host weight, one after the other.
Bytes host_bytes(const Weight& weight) {
  Bytes bytes;
  for (const WeightPart& part : weight.parts) {
    const std::int64_t elements = weight.rows == 1 ? part.rows : part.rows * weight.cols;
    const auto* data = static_cast<const std::byte*>(part.data);
    bytes.insert(bytes.end(), data, data + elements * std::int64_t(size_of(weight.dtype)));
  }
  return bytes;
}

TEST(CudaWeights, AreTheCheckpointsBytesStackedByRows) {
  random_cases(Compared::with_reference, [](GpuWorld& world) {
    const WeightUse use = world.between(0, 1) == 0 ? WeightUse::vector : WeightUse::matrix;
    const bool mixed = world.between(0, 3) == 0;
    const DType dtype = world.float_type();
    const int cols = world.between(2, 90);  // the host takes a vector of one row apart by rows
    std::vector<HostTensor> parts;
    for (int i = world.between(1, 3); i > 0; --i) {
      const std::int64_t rows = world.between(2, 60);
      parts.push_back(world.tensor("part", mixed ? world.float_type() : dtype,
                                   use == WeightUse::vector ? Shape{rows} : Shape{rows, cols}));
    }
    const Weight expected = world.reference().load(parts, use, world.stream());
    const Weight actual = world.cuda().load(parts, use, world.gpu_stream());
    EXPECT_EQ(actual.dtype, expected.dtype);
    EXPECT_EQ(actual.rows, expected.rows);
    EXPECT_EQ(actual.cols, expected.cols);
    ASSERT_TRUE(download(world, actual) == host_bytes(expected));
  });
}

TEST(CudaWeights, LargerThanTheStagingPiecesArriveWhole) {
  GpuWorld world;
  const std::int64_t rows = 21'000;
  for (const DType second : {DType::bf16, DType::f16}) {
    const std::vector<HostTensor> parts{world.tensor("a", DType::bf16, Shape{rows, 1000}),
                                        world.tensor("b", second, Shape{3, 1000})};
    const Weight expected = world.reference().load(parts, WeightUse::matrix, world.stream());
    const Weight actual = world.cuda().load(parts, WeightUse::matrix, world.gpu_stream());
    EXPECT_TRUE(download(world, actual) == host_bytes(expected));
  }
}

TEST(CudaWeights, RandomOnesHaveTheHostsBits) {
  random_cases(Compared::with_reference, [](GpuWorld& world) {
    const WeightUse use = world.between(0, 3) == 0 ? WeightUse::vector : WeightUse::matrix;
    const std::int64_t cols = use == WeightUse::vector ? 1 : world.between(2, 2 + world.size(200));
    std::vector<RandomPart> parts;
    for (int i = world.between(1, 3); i > 0; --i) {
      parts.push_back({"part " + std::to_string(world.between(0, 1000)),
                       world.between(2, 2 + world.size(300))});
    }
    const DType dtype = world.float_type();
    const std::uint64_t seed = world.random()();
    const Weight expected =
        world.reference().random(parts, cols, dtype, seed, kRandomStddev, use, world.stream());
    const Weight actual =
        world.cuda().random(parts, cols, dtype, seed, kRandomStddev, use, world.gpu_stream());
    EXPECT_EQ(actual.dtype, expected.dtype);
    EXPECT_EQ(actual.rows, expected.rows);
    EXPECT_EQ(actual.cols, expected.cols);
    ASSERT_TRUE(download(world, actual) == host_bytes(expected)) << to_string(dtype);
  });
}

TEST(CudaWeights, ATensorOfIntegersIsRefusedByName) {
  GpuWorld world;
  const std::vector<std::int32_t> values(4);
  const HostTensor tensor{
      .name = "odd", .dtype = DType::i32, .shape = Shape{2, 2}, .data = values.data(), .owner = {}};
  try {
    world.cuda().load({&tensor, 1}, WeightUse::matrix, world.gpu_stream());
    FAIL() << "integers were accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("odd"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace reprise::testing
