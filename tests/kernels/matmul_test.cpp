// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "kernels/host/elements.h"
#include "kernels/support/world.h"

namespace reprise::testing {
namespace {

struct Product {
  Weight weight;
  Weight bias;
  bool with_bias = false;
  bool accumulate = false;
  std::vector<float> input;
  std::vector<float> before;

  MatmulArgs args(int first, int rows, float* out) const {
    return {.input = input.data() + first * weight.cols,
            .weight = &weight,
            .bias = with_bias ? &bias : nullptr,
            .out = out,
            .accumulate = accumulate,
            .rows = rows};
  }

  /// Rows [first, first + count) by one call.
  std::vector<float> run(World& world, Primitives& primitives, int first, int count) const {
    Fenced out(static_cast<std::size_t>(count * weight.rows));
    if (accumulate) {
      std::copy_n(before.begin() + first * weight.rows, out.size(), out.data());
    }
    primitives.matmul(args(first, count, out.data()), world.stream());
    world.stream().synchronize();
    return {out.data(), out.data() + out.size()};
  }
};

Product make_product(World& world, int rows, std::int64_t outputs, std::int64_t cols, DType dtype) {
  const std::int64_t cut = outputs > 2 ? world.between(1, static_cast<int>(outputs) - 2) : outputs;
  std::vector<std::int64_t> parts{cut};
  if (outputs > 2) parts.insert(parts.end(), {1, outputs - cut - 1});
  Product product{.weight = world.matrix(outputs, cols, dtype, parts),
                  .bias = world.vector(outputs),
                  .with_bias = world.between(0, 1) == 1,
                  .accumulate = world.between(0, 1) == 1,
                  .input = world.normal(static_cast<std::size_t>(rows * cols)),
                  .before = world.normal(static_cast<std::size_t>(rows * outputs))};
  return product;
}

TEST(Matmul, AgreesWithTheReferenceForOddShapes) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    const auto simd = world.simd(level);
    for (const int rows : {1, 2, 3, 5, 6, 7, 13, 130}) {
      const int outputs = world.between(3, 150);
      const int cols = world.between(1, rows > 7 ? 300 : 3000);
      const DType dtype = world.float_type();
      SCOPED_TRACE(name_of(level) + " " + std::string(to_string(dtype)) + " rows " +
                   std::to_string(rows) + " outputs " + std::to_string(outputs) + " columns " +
                   std::to_string(cols));
      const Product product = make_product(world, rows, outputs, cols, dtype);
      const auto expected = product.run(world, world.reference(), 0, rows);
      EXPECT_LT(relative_error(product.run(world, *simd, 0, rows), expected), 2e-6);
    }
  }
}

TEST(Matmul, AgreesWithTheReferenceWhereColumnsSpanSeveralBlocks) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    const Product product = make_product(world, 9, 11, 2500, DType::bf16);
    const auto expected = product.run(world, world.reference(), 0, 9);
    EXPECT_LT(relative_error(product.run(world, *world.simd(level), 0, 9), expected), 2e-6);
  }
}

TEST(Matmul, BitsOfARowDependOnNeitherRowsNorThreads) {
  World one(1);
  World three(3);
  SCOPED_TRACE(one.trace());
  for (const SimdLevel level : usable_levels()) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const int rows = 130;
      const Product product = make_product(one, rows, 77, one.between(1, 2100), dtype);
      const auto all = product.run(three, *three.simd(level), 0, rows);
      for (const auto& [first, count] : std::initializer_list<std::pair<int, int>>{
               {0, 1}, {129, 1}, {64, 2}, {17, 5}, {30, 6}, {31, 7}, {0, 64}, {3, 100}}) {
        const auto part = product.run(one, *one.simd(level), first, count);
        const std::span<const float> whole(all.data() + first * 77, part.size());
        EXPECT_TRUE(same_bits(part, whole))
            << name_of(level) << " rows " << first << " to " << first + count - 1;
      }
    }
  }
}

TEST(Matmul, NeighboursFullOfNansChangeNothing) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    const auto simd = world.simd(level);
    Product product = make_product(world, 20, 19, 37, DType::bf16);
    const auto clean = product.run(world, *simd, 7, 1);
    for (std::size_t i = 0; i < product.input.size(); ++i) {
      if (i / 37 != 7) product.input[i] = std::numeric_limits<float>::quiet_NaN();
    }
    const auto all = product.run(world, *simd, 0, 20);
    EXPECT_TRUE(same_bits(clean, {all.data() + 7 * 19, 19})) << name_of(level);
    EXPECT_TRUE(std::isnan(all[6 * 19]) && std::isnan(all[8 * 19]));
  }
}

TEST(Matmul, ReadsSubnormalsAndInfinitiesOfSixteenBitTypes) {
  World world;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    // One column per bit pattern that is special, one output per column.
    const std::vector<std::uint16_t> patterns{0x0001, 0x8001, 0x03ff, 0x0400, 0x007f, 0x0080,
                                              0x7bff, 0x7f7f, 0x7c00, 0x7f80, 0x0000, 0x8000};
    const HostTensor tensor{.name = "patterns",
                            .dtype = dtype,
                            .shape = Shape{12, 1},
                            .data = patterns.data(),
                            .owner = nullptr};
    const Weight weight = world.reference().load({&tensor, 1}, WeightUse::matrix, world.stream());
    const std::vector<float> input(9, 1.0f);
    for (const SimdLevel level : usable_levels()) {
      for (const int rows : {1, 9}) {
        Fenced out(static_cast<std::size_t>(rows) * 12);
        world.simd(level)->matmul(
            {.input = input.data(), .weight = &weight, .out = out.data(), .rows = rows},
            world.stream());
        world.stream().synchronize();
        for (std::size_t i = 0; i < out.size(); ++i) {
          const float exact =
              load_element(dtype, patterns.data(), static_cast<std::int64_t>(i % 12));
          if (std::isnan(exact)) {
            EXPECT_TRUE(std::isnan(out[i]));
          } else {
            EXPECT_EQ(out[i], exact) << name_of(level) << " pattern " << i % 12;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace reprise::testing
