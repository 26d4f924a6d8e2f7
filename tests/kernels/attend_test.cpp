// SPDX-License-Identifier: Apache-2.0
// Rotation with appending to the cache, and attention over it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/host/elements.h"
#include "kernels/support/world.h"

namespace reprise::testing {
namespace {

/// A cache of shuffled pages, and rows at random positions of their own sequences or, as in a
/// prefill, at consecutive positions of two.
struct Scene {
  static constexpr int kPagesPerSequence = 6;

  Scene(World& world, int row_total, HeadGeometry heads, bool prefill)
      : geometry(heads), rows(row_total), entry(heads.kv_heads * heads.head_dim) {
    const int sequence_count = prefill ? 2 : rows;
    const int page_count = 1 + sequence_count * kPagesPerSequence;
    tables.resize(static_cast<std::size_t>(page_count) - 1);
    std::iota(tables.begin(), tables.end(), 1);
    std::shuffle(tables.begin(), tables.end(), world.random());
    const int half = (rows + 1) / 2;
    const int start = world.between(0, 96 - half);
    for (int row = 0; row < rows; ++row) {
      sequences.push_back(prefill ? row / half : row);
      positions.push_back(prefill ? start + row % half : world.between(0, 95));
    }
    const auto elements = static_cast<std::size_t>(page_count * kPageTokens * entry);
    keys = world.normal(elements);
    values = world.normal(elements);
    with_map = prefill;
    row_count = rows;
    q_width = std::int64_t{heads.heads} * heads.head_dim;
    q = world.normal(static_cast<std::size_t>(rows * q_width), 2);
    qkv = world.normal(static_cast<std::size_t>(rows * (q_width + 2 * entry)));
    rope = world.normal(static_cast<std::size_t>(96 * heads.head_dim));
  }

  /// The rows [first, …) as if they were a batch of their own.
  BatchInputs batch(int first = 0) const {
    return {.positions = positions.data() + first,
            .sequences = with_map ? sequences.data() + first : nullptr,
            .block_tables = with_map ? tables.data() : tables.data() + first * kPagesPerSequence,
            .pages_per_sequence = kPagesPerSequence,
            .row_count = first == 0 ? &row_count : nullptr};
  }
  CacheLayer cache() { return {.keys = keys.data(), .values = values.data()}; }

  std::vector<float> attend(World& world, Primitives& primitives, int window, int first,
                            int count) {
    Fenced out(static_cast<std::size_t>(count * q_width));
    primitives.attend({.geometry = geometry, .scale = 0.3f, .window = window},
                      {.batch = batch(first),
                       .q = q.data() + first * q_width,
                       .cache = cache(),
                       .out = out.data()},
                      count, world.stream());
    world.stream().synchronize();
    return {out.data(), out.data() + out.size()};
  }

  /// Returns q; keys and values go to the cache.
  std::vector<float> append(World& world, Primitives& primitives, int first, int count) {
    Fenced out(static_cast<std::size_t>(count * q_width));
    primitives.rotate_append({.batch = batch(),
                              .qkv = qkv.data() + first * (q_width + 2 * entry),
                              .q = out.data(),
                              .cache = cache(),
                              .geometry = geometry,
                              .rope = rope.data(),
                              .rope_positions = 96,
                              .first_row = first,
                              .rows = count},
                             world.stream());
    world.stream().synchronize();
    return {out.data(), out.data() + out.size()};
  }

  HeadGeometry geometry;
  int rows;
  int entry;
  std::int64_t q_width = 0;
  bool with_map = false;
  std::int32_t row_count = 0;
  std::vector<std::int32_t> tables, sequences, positions;
  std::vector<float> keys, values, q, qkv, rope;
};

HeadGeometry random_geometry(World& world) {
  const int kv_heads = world.between(1, 3);
  const int sizes[] = {8, 10, 16, 22, 32, 48, 64, 80, 96, 128, 200, 256};
  return {.heads = kv_heads * world.between(1, 5),
          .kv_heads = kv_heads,
          .head_dim = sizes[world.between(0, 11)]};
}

std::string describe(SimdLevel level, const HeadGeometry& g, int rows) {
  return name_of(level) + " heads " + std::to_string(g.heads) + "/" + std::to_string(g.kv_heads) +
         " of " + std::to_string(g.head_dim) + ", rows " + std::to_string(rows);
}

TEST(Attend, AgreesWithTheReference) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    const auto simd = world.simd(level);
    for (const int rows : {1, 2, 7, 33}) {
      for (const bool prefill : {false, true}) {
        const HeadGeometry geometry = random_geometry(world);
        Scene scene(world, rows, geometry, prefill);
        const int window = world.between(0, 1) == 0 ? 0 : world.between(1, 60);
        SCOPED_TRACE(describe(level, geometry, rows) + " window " + std::to_string(window));
        const auto expected = scene.attend(world, world.reference(), window, 0, rows);
        EXPECT_LT(relative_error(scene.attend(world, *simd, window, 0, rows), expected), 3e-6);
      }
    }
  }
}

TEST(Attend, ManyQueryHeadsMayShareOneKeyHead) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    Scene scene(world, 3, {.heads = 37, .kv_heads = 1, .head_dim = 12}, false);
    const auto expected = scene.attend(world, world.reference(), 0, 0, 3);
    EXPECT_LT(relative_error(scene.attend(world, *world.simd(level), 0, 0, 3), expected), 3e-6);
  }
}

TEST(Attend, StaysExactWhereScoresAreFarApart) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    Scene scene(world, 5, {.heads = 4, .kv_heads = 2, .head_dim = 32}, false);
    for (float& x : scene.q) x *= 60;
    const auto expected = scene.attend(world, world.reference(), 0, 0, 5);
    // The scores reach hundreds, so their own rounding in f32 is what limits the result.
    EXPECT_LT(relative_error(scene.attend(world, *world.simd(level), 0, 0, 5), expected), 2e-4);
  }
}

TEST(Attend, BitsOfARowDependOnNeitherRowsNorThreads) {
  World one(1);
  World three(3);
  SCOPED_TRACE(one.trace());
  for (const SimdLevel level : usable_levels()) {
    for (const bool prefill : {false, true}) {
      Scene scene(one, 130, {.heads = 6, .kv_heads = 2, .head_dim = 24}, prefill);
      const auto all = scene.attend(three, *three.simd(level), 40, 0, 130);
      for (const int row : {0, 1, 77, 129}) {
        const auto alone = scene.attend(one, *one.simd(level), 40, row, 1);
        EXPECT_TRUE(same_bits(alone, {all.data() + row * scene.q_width, alone.size()}))
            << name_of(level) << " row " << row;
      }
    }
  }
}

TEST(Attend, PaddingRowsReadNothingAndBecomeZero) {
  World world;
  for (const SimdLevel level : usable_levels()) {
    Scene scene(world, 6, {.heads = 4, .kv_heads = 2, .head_dim = 16}, false);
    scene.row_count = 4;
    const auto before = scene.attend(world, *world.simd(level), 0, 0, 6);
    // Whatever stands in the inputs of padding rows, it is not looked at.
    for (int row = 4; row < 6; ++row) {
      scene.positions[static_cast<std::size_t>(row)] = 1 << 30;
      std::fill_n(scene.tables.begin() + row * Scene::kPagesPerSequence, Scene::kPagesPerSequence,
                  1 << 30);
    }
    const auto after = scene.attend(world, *world.simd(level), 0, 0, 6);
    EXPECT_TRUE(same_bits(before, after));
    for (std::size_t i = static_cast<std::size_t>(4 * scene.q_width); i < after.size(); ++i) {
      EXPECT_EQ(after[i], 0);
    }
  }
}

TEST(RotateAppend, AgreesWithTheReferenceAndTouchesOnlyItsEntries) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    for (const int rows : {1, 5, 40}) {
      const HeadGeometry geometry = random_geometry(world);
      SCOPED_TRACE(describe(level, geometry, rows));
      Scene scene(world, rows, geometry, rows == 40);
      scene.row_count = rows - (rows > 1 ? 2 : 0);
      std::fill(scene.keys.begin(), scene.keys.end(), poison());
      std::fill(scene.values.begin(), scene.values.end(), poison());
      Scene expected = scene;
      const auto q_expected = expected.append(world, world.reference(), 0, rows);
      const auto q = scene.append(world, *world.simd(level), 0, rows);
      EXPECT_LT(relative_error(q, q_expected), 1e-6);
      std::size_t written = 0;
      for (std::size_t i = 0; i < scene.keys.size(); ++i) {
        ASSERT_EQ(is_poison(scene.keys[i]), is_poison(expected.keys[i])) << i;
        ASSERT_EQ(is_poison(scene.values[i]), is_poison(expected.values[i])) << i;
        if (is_poison(scene.keys[i])) continue;
        ++written;
        ASSERT_NEAR(scene.keys[i], expected.keys[i], 1e-5);
        ASSERT_EQ(scene.values[i], expected.values[i]);
      }
      EXPECT_EQ(written, static_cast<std::size_t>(scene.row_count * scene.entry));
    }
  }
}

TEST(RotateAppend, BitsOfARowDependOnNeitherRowsNorTheFirstRow) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const SimdLevel level : usable_levels()) {
    Scene scene(world, 30, {.heads = 4, .kv_heads = 2, .head_dim = 26}, false);
    Scene pieces = scene;
    const auto simd = world.simd(level);
    const auto all = scene.append(world, *simd, 0, 30);
    std::vector<float> joined;
    for (const auto& [first, count] :
         std::initializer_list<std::pair<int, int>>{{0, 1}, {1, 16}, {17, 13}}) {
      const auto part = pieces.append(world, *simd, first, count);
      joined.insert(joined.end(), part.begin(), part.end());
    }
    EXPECT_TRUE(same_bits(all, joined));
    EXPECT_TRUE(same_bits(scene.keys, pieces.keys));
    EXPECT_TRUE(same_bits(scene.values, pieces.values));
  }
}

/// Attention of a reference that stores in 16 bits reads its own queries and cache.
TEST(Attend, TheReferenceTakesSixteenBitStorage) {
  World world;
  SCOPED_TRACE(world.trace());
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Scene exact(world, 6, {.heads = 4, .kv_heads = 2, .head_dim = 16}, false);
    const auto narrow = [&](std::vector<float>& values) {
      std::vector<std::uint16_t> bits(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        store_element(dtype, bits.data(), at, values[i]);
        values[i] = load_element(dtype, bits.data(), at);
      }
      return bits;
    };
    auto q = narrow(exact.q), keys = narrow(exact.keys), values = narrow(exact.values);
    const auto expected = exact.attend(world, world.reference(), 0, 0, 6);
    std::vector<std::uint16_t> out(expected.size());
    make_reference_primitives(world.device(), {.activation = dtype, .cache = dtype})
        ->attend({.geometry = exact.geometry, .scale = 0.3f},
                 {.batch = exact.batch(),
                  .q = q.data(),
                  .cache = {.keys = keys.data(), .values = values.data(), .dtype = dtype},
                  .out = out.data()},
                 6, world.stream());
    world.stream().synchronize();
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::uint16_t rounded = 0;
      store_element(dtype, &rounded, 0, expected[i]);
      EXPECT_EQ(out[i], rounded);
    }
  }
}

TEST(RotateAppend, APositionBeyondTheTableIsAnErrorNotAWildWrite) {
  World world;
  Scene scene(world, 1, {.heads = 2, .kv_heads = 1, .head_dim = 8}, false);
  scene.positions[0] = 96;
  EXPECT_THROW(scene.append(world, *world.simd(SimdLevel::best), 0, 1), DeviceError);
}

}  // namespace
}  // namespace reprise::testing
