// SPDX-License-Identifier: Apache-2.0
#include "core/random_weights.h"
#include "kernels/host/elements.h"
#include "kernels/support/world.h"

namespace reprise::testing {
namespace {

TEST(HostWeights, MatricesStayWhereTheyAre) {
  World world;
  const HostTensor q = world.tensor("q", DType::bf16, Shape{6, 5});
  const HostTensor k = world.tensor("k", DType::bf16, Shape{2, 5});
  const HostTensor parts[] = {q, k};
  const auto ops = make_ops(world.device());
  const Weight weight = ops->load(parts, WeightUse::matrix, world.stream());
  EXPECT_EQ(weight.rows, 8);
  EXPECT_EQ(weight.cols, 5);
  EXPECT_EQ(weight.parts[0].data, q.data);
  EXPECT_EQ(weight.parts[1].data, k.data);
  EXPECT_GT(q.owner.use_count(), 2) << "the weight must keep the mapped file alive";
}

TEST(HostWeights, VectorsAndMixedTypesBecomeOneArrayOfF32) {
  World world;
  const HostTensor q = world.tensor("q", DType::f16, Shape{4});
  const HostTensor k = world.tensor("k", DType::bf16, Shape{3});
  const HostTensor vectors[] = {q, k};
  const auto ops = make_ops(world.device());
  const Weight vector = ops->load(vectors, WeightUse::vector, world.stream());
  EXPECT_EQ(vector.rows, 1);
  EXPECT_EQ(vector.cols, 7);
  EXPECT_EQ(vector.dtype, DType::f32);
  const auto* values = static_cast<const float*>(vector.parts[0].data);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(values[i], load_element(q.dtype, q.data, i));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values[4 + i], load_element(k.dtype, k.data, i));

  const HostTensor a = world.tensor("a", DType::f32, Shape{2, 3});
  const HostTensor b = world.tensor("b", DType::bf16, Shape{1, 3});
  const HostTensor matrices[] = {a, b};
  const Weight matrix = ops->load(matrices, WeightUse::matrix, world.stream());
  EXPECT_EQ(matrix.dtype, DType::f32);
  EXPECT_EQ(matrix.rows, 3);
  EXPECT_EQ(static_cast<const float*>(matrix.parts[0].data)[7], load_element(b.dtype, b.data, 1));
}

TEST(HostWeights, RandomOnesAreThePureFunctionOfSeedNameAndIndex) {
  World world;
  const RandomPart parts[] = {{"gate", 300}, {"up", 7}};
  for (const SimdLevel level : usable_levels()) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Weight weight = world.simd(level)->random(parts, 1000, dtype, 11, 0.02f,
                                                      WeightUse::matrix, world.stream());
      ASSERT_EQ(weight.rows, 307);
      for (int part = 0; part < 2; ++part) {
        const auto seed = tensor_seed(11, parts[part].name);
        for (std::int64_t i = 0; i < parts[part].rows * 1000; ++i) {
          std::uint32_t expected = 0;
          store_element(dtype, &expected, 0,
                        random_weight(seed, static_cast<std::uint64_t>(i), random_scale(0.02f)));
          ASSERT_EQ(load_element(dtype, weight.parts[static_cast<std::size_t>(part)].data, i),
                    load_element(dtype, &expected, 0))
              << name_of(level) << " part " << part << " element " << i;
        }
      }
    }
  }
}

TEST(HostWeights, RefusalsNameTheTensor) {
  World world;
  const auto ops = make_ops(world.device());
  const auto refusal = [&](std::vector<HostTensor> parts, WeightUse use) {
    try {
      ops->load(parts, use, world.stream());
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const HostTensor a = world.tensor("model.a", DType::f32, Shape{2, 3});
  const HostTensor b = world.tensor("model.b", DType::f32, Shape{2, 4});
  HostTensor tokens = a;
  tokens.dtype = DType::i32;
  HostTensor absent = a;
  absent.data = nullptr;
  EXPECT_EQ(refusal({a, b}, WeightUse::matrix),
            "tensor 'model.b' has 4 columns, 'model.a' has 3; stacked tensors must agree");
  EXPECT_NE(refusal({a}, WeightUse::vector).find("'model.a' has shape [2, 3]"), std::string::npos);
  EXPECT_NE(refusal({tokens}, WeightUse::matrix).find("'model.a' is i32"), std::string::npos);
  EXPECT_NE(refusal({absent}, WeightUse::matrix).find("'model.a' has no data"), std::string::npos);
  EXPECT_NE(refusal({}, WeightUse::matrix), "accepted");
}

}  // namespace
}  // namespace reprise::testing
