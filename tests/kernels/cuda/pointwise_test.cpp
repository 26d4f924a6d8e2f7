// SPDX-License-Identifier: Apache-2.0
// Embedding, norm, gated activation and reading, against the reference.
#include <cmath>

#include "kernels/cuda/random_cases.h"

namespace reprise::testing {
namespace {

void expect_close(const Bytes& actual, const Bytes& expected, std::size_t at, DType dtype,
                  std::size_t count) {
  const double least = 1e-6 * std::sqrt(static_cast<double>(count));  // of numbers about 1
  EXPECT_LT(
      relative_error(floats(actual, at, dtype, count), floats(expected, at, dtype, count), least),
      tolerance(dtype));
}

TEST(CudaEmbed, GathersExactlyAndPaddingBecomesZero) {
  random_cases(Compared::with_reference, [](GpuWorld& world) {
    const DType dtype = world.float_type();
    const int rows = world.rows();
    const int width = world.size(700);
    const int used = world.between(0, rows);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows));
    for (auto& token : tokens) token = world.between(0, 49);
    for (int row = used; row < rows; ++row) tokens[static_cast<std::size_t>(row)] = 1 << 30;
    Image image;
    const std::size_t table_at =
        image.add(dtype, world.normal(static_cast<std::size_t>(50 * width)));
    const std::size_t tokens_at = image.add(tokens);
    const std::size_t count_at = image.add(std::vector<std::int32_t>{used});
    const auto count = static_cast<std::size_t>(rows * width);
    const std::size_t out_at = image.poisoned(DType::f32, count);
    const Work run = [&](Primitives& primitives, std::byte* base, Stream& stream) {
      const Weight table{
          .dtype = dtype, .rows = 50, .cols = width, .parts = {{base + table_at, 50}}, .owner = {}};
      primitives.embed({&table},
                       {.batch = {.tokens = at<std::int32_t>(base, tokens_at),
                                  .row_count = at<std::int32_t>(base, count_at)},
                        .residual = at<float>(base, out_at)},
                       rows, stream);
      stream.synchronize();
    };
    EXPECT_TRUE(same_bytes(world.on_gpu(image, run), out_at, world.on_host(image, dtype, run),
                           out_at, count * sizeof(float)))
        << to_string(dtype) << " rows " << used << " of " << rows << " width " << width;
  });
}

TEST(CudaEmbed, ATokenOutsideTheVocabularyGivesNanAndNoWildAccess) {
  GpuWorld world;
  Image image;
  const std::size_t table_at = image.add(DType::bf16, world.normal(40));
  const std::size_t tokens_at = image.add(std::vector<std::int32_t>{5, -1, 4});
  const std::size_t out_at = image.poisoned(DType::f32, 24);
  const Bytes after = world.on_gpu(image, [&](Primitives& primitives, std::byte* base, Stream& s) {
    const Weight table{
        .dtype = DType::bf16, .rows = 5, .cols = 8, .parts = {{base + table_at, 5}}, .owner = {}};
    primitives.embed({&table},
                     {.batch = {.tokens = at<std::int32_t>(base, tokens_at)},
                      .residual = at<float>(base, out_at)},
                     3, s);
    s.synchronize();
  });
  const auto out = floats(after, out_at, DType::f32, 24);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(std::isnan(out[i]), i < 16) << i;
}

TEST(CudaRmsNorm, AgreesWithTheReferenceAndRowsDoNotMatter) {
  random_cases(Compared::with_reference, [](GpuWorld& world) {
    const DType dtype = world.float_type();
    const int rows = world.rows();
    const int width = world.size(rows > 16 ? 900 : 9000);
    Image image;
    const auto count = static_cast<std::size_t>(rows * width);
    const std::size_t input_at = image.add(world.normal(count, 3));
    const std::size_t weight_at = image.add(world.normal(static_cast<std::size_t>(width)));
    const std::size_t out_at = image.poisoned(dtype, count);
    const auto rows_from = [&](int first, int n) -> Work {
      return [=](Primitives& primitives, std::byte* base, Stream& stream) {
        const Weight weight{
            .rows = 1, .cols = width, .parts = {{base + weight_at, width}}, .owner = {}};
        const std::int64_t skip = std::int64_t{first} * width;
        primitives.rms_norm({.input = at<float>(base, input_at) + skip,
                             .weight = &weight,
                             .eps = 1e-5f,
                             .out = base + out_at + static_cast<std::size_t>(skip) * size_of(dtype),
                             .out_dtype = dtype,
                             .rows = n,
                             .width = width},
                            stream);
        stream.synchronize();
      };
    };
    SCOPED_TRACE(std::string(to_string(dtype)) + " rows " + std::to_string(rows) + " width " +
                 std::to_string(width));
    const Bytes actual = world.on_gpu(image, rows_from(0, rows));
    expect_close(actual, world.on_host(image, dtype, rows_from(0, rows)), out_at, dtype, count);
    const int row = world.between(0, rows - 1);
    const std::size_t row_bytes = static_cast<std::size_t>(width) * size_of(dtype);
    const std::size_t where = out_at + static_cast<std::size_t>(row) * row_bytes;
    EXPECT_TRUE(
        same_bytes(world.on_gpu(image, rows_from(row, 1)), where, actual, where, row_bytes));
  });
}

TEST(CudaSiluMul, AgreesWithTheReference) {
  random_cases(Compared::with_reference, [](GpuWorld& world) {
    const DType dtype = world.float_type();
    const int rows = world.rows();
    const int width = world.size(1500);
    Image image;
    const auto count = static_cast<std::size_t>(rows * width);
    const std::size_t input_at = image.add(world.normal(2 * count, world.between(1, 40)));
    const std::size_t out_at = image.poisoned(dtype, count);
    const Work run = [&](Primitives& primitives, std::byte* base, Stream& stream) {
      primitives.silu_mul({.gate_up = at<float>(base, input_at),
                           .out = base + out_at,
                           .out_dtype = dtype,
                           .rows = rows,
                           .width = width},
                          stream);
    };
    SCOPED_TRACE(std::string(to_string(dtype)) + " rows " + std::to_string(rows) + " width " +
                 std::to_string(width));
    expect_close(world.on_gpu(image, run), world.on_host(image, dtype, run), out_at, dtype, count);
  });
}

TEST(CudaReadAll, IsTheExclusiveOrOfAllWords) {
  random_cases(Compared::with_reference, [](GpuWorld& world) {
    const int most = world.between(0, 199) == 0 ? 5'000'000 : 3000;
    const auto bytes = static_cast<std::size_t>(world.between(0, most));
    std::vector<std::uint8_t> data(bytes);
    for (auto& byte : data) byte = static_cast<std::uint8_t>(world.random()());
    Image image;
    const std::size_t data_at = image.add(data);
    const std::size_t sink_at = image.poisoned(DType::f32, 1);
    const Work run = [&](Primitives& primitives, std::byte* base, Stream& stream) {
      primitives.read_all(base + data_at, bytes, at<std::uint32_t>(base, sink_at), stream);
    };
    EXPECT_TRUE(same_bytes(world.on_gpu(image, run), sink_at, world.on_host(image, DType::f32, run),
                           sink_at, 4))
        << bytes << " bytes";
  });
}

}  // namespace
}  // namespace reprise::testing
