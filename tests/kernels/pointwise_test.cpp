// SPDX-License-Identifier: Apache-2.0
// Embedding, norm and gated activation.
#include <cmath>

#include "core/half.h"
#include "kernels/support/world.h"

namespace reprise::testing {
namespace {

std::vector<float> run_norm(World& world, Primitives& primitives, const Weight& weight,
                            const std::vector<float>& input, int first, int rows) {
  const int width = static_cast<int>(weight.cols);
  Fenced out(static_cast<std::size_t>(rows * width));
  primitives.rms_norm({.input = input.data() + first * width,
                       .weight = &weight,
                       .eps = 1e-5f,
                       .out = out.data(),
                       .rows = rows,
                       .width = width},
                      world.stream());
  world.stream().synchronize();
  return {out.data(), out.data() + out.size()};
}

std::vector<float> run_silu(World& world, Primitives& primitives, const std::vector<float>& input,
                            int width, int first, int rows) {
  Fenced out(static_cast<std::size_t>(rows * width));
  primitives.silu_mul({.gate_up = input.data() + 2 * first * width,
                       .out = out.data(),
                       .rows = rows,
                       .width = width},
                      world.stream());
  world.stream().synchronize();
  return {out.data(), out.data() + out.size()};
}

TEST(RmsNorm, AgreesWithTheReferenceAndRowsDoNotMatter) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    const auto simd = world.simd(level);
    for (const int width : {1, 7, 16, 63, 64, 65, 130, 1000, 4096}) {
      const Weight weight = world.vector(width);
      const auto input = world.normal(static_cast<std::size_t>(130 * width), 3);
      const auto expected = run_norm(world, world.reference(), weight, input, 0, 130);
      const auto actual = run_norm(world, *simd, weight, input, 0, 130);
      EXPECT_LT(relative_error(actual, expected), 1e-6) << name_of(level) << " width " << width;
      const auto alone = run_norm(world, *simd, weight, input, 99, 1);
      EXPECT_TRUE(same_bits(alone, {actual.data() + 99 * width, alone.size()})) << name_of(level);
    }
  }
}

TEST(SiluMul, AgreesWithTheReferenceAndRowsDoNotMatter) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    const auto simd = world.simd(level);
    for (const int width : {1, 9, 64, 1001}) {
      const auto input = world.normal(static_cast<std::size_t>(2 * 50 * width), 8);
      const auto expected = run_silu(world, world.reference(), input, width, 0, 50);
      const auto actual = run_silu(world, *simd, input, width, 0, 50);
      for (std::size_t i = 0; i < actual.size(); ++i) {
        ASSERT_NEAR(actual[i], expected[i], 1e-6 * std::abs(expected[i]) + 1e-30) << name_of(level);
      }
      const auto alone = run_silu(world, *simd, input, width, 31, 1);
      EXPECT_TRUE(same_bits(alone, {actual.data() + 31 * width, alone.size()})) << name_of(level);
    }
  }
}

TEST(SiluMul, IsZeroFarBelowAndTheIdentityFarAbove) {
  World world;
  for (const SimdLevel level : usable_levels()) {
    const std::vector<float> input{-1000, -200, -95, 0, 95, 1000, 1, 1, 1, 1, 1, 1};
    const auto out = run_silu(world, *world.simd(level), input, 6, 0, 1);
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(out[static_cast<std::size_t>(i)], 0, 1e-30);
    EXPECT_EQ(out[3], 0);
    EXPECT_EQ(out[4], 95);
    EXPECT_EQ(out[5], 1000);
  }
}

TEST(Embed, GathersExactlyAndPaddingBecomesZero) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const int width = world.between(1, 100);
      const Weight table = world.matrix(50, width, dtype);
      std::vector<std::int32_t> tokens(40);
      for (auto& token : tokens) token = world.between(0, 49);
      tokens[38] = -7;  // padding is not looked at
      const std::int32_t count = 38;
      const BatchInputs batch{.tokens = tokens.data(), .row_count = &count};
      Fenced expected(static_cast<std::size_t>(40 * width));
      Fenced actual(static_cast<std::size_t>(40 * width));
      world.reference().embed({&table}, {batch, expected.data()}, 40, world.stream());
      world.simd(level)->embed({&table}, {batch, actual.data()}, 40, world.stream());
      world.stream().synchronize();
      EXPECT_TRUE(same_bits(actual.span(), expected.span())) << name_of(level);
      for (int i = 38 * width; i < 40 * width; ++i) {
        EXPECT_EQ(actual[static_cast<std::size_t>(i)], 0);
      }
    }
  }
}

TEST(Embed, ATokenOutsideTheVocabularyIsNamed) {
  World world;
  const Weight table = world.matrix(50, 8, DType::bf16);
  const std::int32_t token = 50;
  Fenced out(8);
  world.simd(SimdLevel::best)->embed({&table}, {{.tokens = &token}, out.data()}, 1, world.stream());
  try {
    world.stream().synchronize();
    FAIL() << "token 50 of 50 was accepted";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("token 50"), std::string::npos) << error.what();
  }
}

/// As the stand-in for a device of 16-bit storage, the reference computes alike and rounds at the
/// end.
TEST(Reference, RoundsWhatItStoresToTheTypeAskedFor) {
  World world;
  SCOPED_TRACE(world.trace());
  const Weight weight = world.vector(30);
  const auto input = world.normal(2 * 30);
  const auto norm = run_norm(world, world.reference(), weight, input, 0, 2);
  const auto silu = run_silu(world, world.reference(), input, 30, 0, 1);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const auto primitives =
        make_reference_primitives(world.device(), {.activation = dtype, .cache = dtype});
    EXPECT_EQ(primitives->activation_dtype(DType::f32), dtype);
    EXPECT_EQ(primitives->cache_dtype(DType::f32), dtype);
    std::vector<std::uint16_t> stored(60 + 30);
    primitives->rms_norm({.input = input.data(),
                          .weight = &weight,
                          .eps = 1e-5f,
                          .out = stored.data(),
                          .out_dtype = dtype,
                          .rows = 2,
                          .width = 30},
                         world.stream());
    primitives->silu_mul({.gate_up = input.data(),
                          .out = stored.data() + 60,
                          .out_dtype = dtype,
                          .rows = 1,
                          .width = 30},
                         world.stream());
    world.stream().synchronize();
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const float exact = i < 60 ? norm[i] : silu[i - 60];
      EXPECT_EQ(stored[i], dtype == DType::bf16 ? bf16_from_float(exact) : f16_from_float(exact));
    }
  }
}

}  // namespace
}  // namespace reprise::testing
