// SPDX-License-Identifier: Apache-2.0
// Rotation with appending to the cache, and attention over it, against the reference.
#include <algorithm>
#include <numeric>

#include "kernels/cuda/random_cases.h"

namespace reprise::testing {
namespace {

/// A cache of shuffled pages, and rows at random positions of their own sequences or, as in a
/// prefill, at consecutive positions of two. The last rows may be padding full of nonsense.
struct Scene {
  /// At least `least_used` of the rows are no padding.
  Scene(GpuWorld& world, DType type, HeadGeometry heads, int row_total, int pages_each,
        int least_used = 1)
      : dtype(type), geometry(heads), rows(row_total), pages(pages_each) {
    prefill = world.between(0, 2) == 0 && (rows + 1) / 2 < room();
    used = world.between(0, 2) == 0 ? world.between(least_used, rows) : rows;
    window = world.between(0, 1) == 0 ? 0 : world.between(1, room());
    fill_tables(world);
    entry = heads.kv_heads * heads.head_dim;
    q_width = heads.heads * heads.head_dim;
    const auto n = static_cast<std::size_t>(rows);
    const auto cache_size = static_cast<std::size_t>(page_count * kPageTokens * entry);
    keys_at = image.add(dtype, world.normal(cache_size), true);
    values_at = image.add(dtype, world.normal(cache_size), true);
    count_at = image.add(std::vector<std::int32_t>{used});
    q_at = image.add(dtype, world.normal(n * static_cast<std::size_t>(q_width), 2));
    qkv_at = image.add(world.normal(n * static_cast<std::size_t>(q_width + 2 * entry)));
    rope_at = image.add(world.normal(static_cast<std::size_t>(room() * heads.head_dim)));
    out_at = image.poisoned(dtype, n * static_cast<std::size_t>(q_width));
  }

  int room() const { return pages * kPageTokens; }

  void fill_tables(GpuWorld& world) {
    const int sequence_count = prefill ? 2 : rows;
    page_count = 1 + sequence_count * pages;
    std::vector<std::int32_t> tables(static_cast<std::size_t>(page_count) - 1);
    std::iota(tables.begin(), tables.end(), 1);
    std::shuffle(tables.begin(), tables.end(), world.random());
    const int half = (rows + 1) / 2;
    const int start = world.between(0, std::max(0, room() - half));
    std::vector<std::int32_t> sequences, positions;
    for (int row = 0; row < rows; ++row) {
      sequences.push_back(prefill ? row / half : row);
      positions.push_back(prefill ? start + row % half : world.between(0, room() - 1));
      if (row >= used) {
        sequences.back() = 1 << 30;
        positions.back() = -(1 << 30);
      }
    }
    tables_at = image.add(tables);
    sequences_at = image.add(sequences);
    positions_at = image.add(positions);
  }

  BatchInputs batch(std::byte* base, int first) const {
    const bool whole = first == 0;
    return {.positions = at<std::int32_t>(base, positions_at) + first,
            .sequences = at<std::int32_t>(base, sequences_at) + first,
            .block_tables = at<std::int32_t>(base, tables_at),
            .pages_per_sequence = pages,
            .row_count = whole ? at<std::int32_t>(base, count_at) : nullptr};
  }
  CacheLayer cache(std::byte* base) const {
    return {.keys = base + keys_at, .values = base + values_at, .dtype = dtype};
  }
  std::size_t row_bytes() const { return static_cast<std::size_t>(q_width) * size_of(dtype); }

  Work attend(int first, int n) const {
    return [this, first, n](Primitives& primitives, std::byte* base, Stream& stream) {
      const std::size_t skip = static_cast<std::size_t>(first) * row_bytes();
      primitives.attend({.geometry = geometry, .scale = 0.3f, .window = window},
                        {.batch = batch(base, first),
                         .q = base + q_at + skip,
                         .cache = cache(base),
                         .out = base + out_at + skip},
                        n, stream);
    };
  }
  Work append(int first, int n) const {
    return [this, first, n](Primitives& primitives, std::byte* base, Stream& stream) {
      primitives.rotate_append(
          {.batch = batch(base, 0),
           .qkv = at<float>(base, qkv_at) + std::int64_t{first} * (q_width + 2 * entry),
           .q = base + out_at + static_cast<std::size_t>(first) * row_bytes(),
           .q_dtype = dtype,
           .cache = cache(base),
           .geometry = geometry,
           .rope = at<float>(base, rope_at),
           .rope_positions = room(),
           .first_row = first,
           .rows = n},
          stream);
    };
  }

  std::string describe() const {
    return std::string(to_string(dtype)) + " heads " + std::to_string(geometry.heads) + "/" +
           std::to_string(geometry.kv_heads) + " of " + std::to_string(geometry.head_dim) +
           ", rows " + std::to_string(used) + " of " + std::to_string(rows) + ", room " +
           std::to_string(room()) + ", window " + std::to_string(window) +
           (prefill ? ", prefill" : "");
  }

  Image image;
  DType dtype;
  HeadGeometry geometry;
  int rows, pages, used = 0, window = 0, entry = 0, q_width = 0, page_count = 0;
  bool prefill = false;
  std::size_t tables_at = 0, sequences_at = 0, positions_at = 0, count_at = 0, keys_at = 0,
              values_at = 0, q_at = 0, qkv_at = 0, rope_at = 0, out_at = 0;
};

HeadGeometry any_geometry(GpuWorld& world) {
  constexpr std::array kSizes{8, 10, 16, 22, 32, 48, 64, 66, 80, 96, 128, 130, 200, 256, 264, 640};
  const int kv_heads = world.between(1, 3);
  return {.heads = kv_heads * world.between(1, 6),
          .kv_heads = kv_heads,
          .head_dim = kSizes[static_cast<std::size_t>(world.between(0, kSizes.size() - 1))]};
}

Scene any_scene(GpuWorld& world, int least_rows = 1) {
  const HeadGeometry geometry = any_geometry(world);
  const int budget = world.budget();
  const int page = 2 * kPageTokens * geometry.kv_heads * geometry.head_dim;
  const int rows = std::max(least_rows, std::clamp(budget / page, 1, world.rows()));
  const int pages = world.between(1, std::clamp(budget / (page * rows), 1, 64));
  return Scene(world, world.float_type(), geometry, rows, pages, least_rows);
}

TEST(CudaAttend, AgreesWithTheReference) {
  random_cases(Compared::with_reference, [](GpuWorld& world) {
    const Scene scene = any_scene(world);
    SCOPED_TRACE(scene.describe());
    const auto count = static_cast<std::size_t>(scene.rows * scene.q_width);
    const Bytes actual = world.on_gpu(scene.image, scene.attend(0, scene.rows));
    const Bytes expected = world.on_host(scene.image, scene.dtype, scene.attend(0, scene.rows));
    EXPECT_LT(relative_error(floats(actual, scene.out_at, scene.dtype, count),
                             floats(expected, scene.out_at, scene.dtype, count)),
              scene.dtype == DType::f32 ? 1e-5 : tolerance(scene.dtype));
    // The whole cache, keys and values, is what it was.
    EXPECT_TRUE(same_bytes(actual, scene.keys_at, scene.image.bytes(), scene.keys_at,
                           scene.count_at - scene.keys_at));
    // Padding becomes zero.
    const std::size_t padding = static_cast<std::size_t>(scene.used) * scene.row_bytes();
    EXPECT_TRUE(same_bytes(actual, scene.out_at + padding, expected, scene.out_at + padding,
                           static_cast<std::size_t>(scene.rows) * scene.row_bytes() - padding));
  });
}

TEST(CudaAttend, AgreesWithTheReferenceOverALongContext) {
  GpuWorld world;
  SCOPED_TRACE(world.trace());
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Scene scene(world, dtype, {.heads = 8, .kv_heads = 2, .head_dim = 128}, 3, 150);
    SCOPED_TRACE(scene.describe());
    const auto count = static_cast<std::size_t>(scene.rows * scene.q_width);
    const Bytes actual = world.on_gpu(scene.image, scene.attend(0, scene.rows));
    const Bytes expected = world.on_host(scene.image, dtype, scene.attend(0, scene.rows));
    EXPECT_LT(relative_error(floats(actual, scene.out_at, dtype, count),
                             floats(expected, scene.out_at, dtype, count)),
              dtype == DType::f32 ? 1e-5 : tolerance(dtype));
  }
}

TEST(CudaAttend, BitsOfARowDependOnNoOtherRow) {
  random_cases(Compared::with_itself, [](GpuWorld& world) {
    const Scene scene = any_scene(world, 2);
    SCOPED_TRACE(scene.describe());
    const Bytes all = world.on_gpu(scene.image, scene.attend(0, scene.rows));
    const int row = world.between(1, scene.used - 1);  // the first row alone has the row count
    const Bytes alone = world.on_gpu(scene.image, scene.attend(row, 1));
    const std::size_t at = scene.out_at + static_cast<std::size_t>(row) * scene.row_bytes();
    EXPECT_TRUE(same_bytes(all, at, alone, at, scene.row_bytes())) << "row " << row;
  });
}

TEST(CudaRotateAppend, AgreesWithTheReferenceAndTouchesOnlyItsEntries) {
  random_cases(Compared::with_reference, [](GpuWorld& world) {
    const Scene scene = any_scene(world);
    SCOPED_TRACE(scene.describe());
    const Bytes actual = world.on_gpu(scene.image, scene.append(0, scene.rows));
    const Bytes expected = world.on_host(scene.image, scene.dtype, scene.append(0, scene.rows));
    const auto count = static_cast<std::size_t>(scene.rows * scene.q_width);
    const auto cache = static_cast<std::size_t>(scene.page_count * kPageTokens * scene.entry);
    for (const auto& [where, n] : std::initializer_list<std::pair<std::size_t, std::size_t>>{
             {scene.out_at, count}, {scene.keys_at, cache}, {scene.values_at, cache}}) {
      EXPECT_LT(relative_error(floats(actual, where, scene.dtype, n),
                               floats(expected, where, scene.dtype, n)),
                tolerance(scene.dtype));
    }
    // What the reference leaves alone, so does the GPU; values are copied exactly.
    const std::size_t bytes = cache * size_of(scene.dtype);
    EXPECT_TRUE(same_bytes(actual, scene.values_at, expected, scene.values_at, bytes));
    const auto keys = floats(actual, scene.keys_at, scene.dtype, cache);
    const auto reference = floats(expected, scene.keys_at, scene.dtype, cache);
    const auto before = floats(scene.image.bytes(), scene.keys_at, scene.dtype, cache);
    for (std::size_t i = 0; i < cache; ++i) {
      if (reference[i] != before[i]) continue;
      ASSERT_NEAR(keys[i], before[i], 1e-2 * std::abs(before[i]));
    }
  });
}

TEST(CudaRotateAppend, BitsDoNotDependOnTheCut) {
  random_cases(Compared::with_itself, [](GpuWorld& world) {
    const Scene scene = any_scene(world, 2);
    SCOPED_TRACE(scene.describe());
    const int cut = world.between(1, scene.rows - 1);
    const Bytes whole = world.on_gpu(scene.image, scene.append(0, scene.rows));
    const Bytes pieces = world.on_gpu(scene.image, [&](Primitives& p, std::byte* base, Stream& s) {
      scene.append(0, cut)(p, base, s);
      scene.append(cut, scene.rows - cut)(p, base, s);
    });
    EXPECT_TRUE(whole == pieces) << "cut at " << cut;
  });
}

TEST(CudaAttend, APositionBeyondTheTableGivesNanAndNoWildAccess) {
  GpuWorld world;
  Scene scene(world, DType::bf16, {.heads = 2, .kv_heads = 1, .head_dim = 8}, 1, 1);
  *at<std::int32_t>(scene.image.bytes().data(), scene.positions_at) = 16;
  for (const Work& run : {scene.append(0, 1), scene.attend(0, 1)}) {
    const Bytes after = world.on_gpu(scene.image, run);
    EXPECT_TRUE(same_bytes(after, scene.keys_at, scene.image.bytes(), scene.keys_at,
                           scene.values_at - scene.keys_at));
    for (const float x : floats(after, scene.out_at, DType::bf16, 16)) EXPECT_TRUE(std::isnan(x));
  }
}

TEST(CudaAttend, HeadsWiderThanTheKernelsTakeAreRefused) {
  GpuWorld world;
  try {
    world.cuda().attend({.geometry = {.heads = 1, .kv_heads = 1, .head_dim = 4098}}, {}, 1,
                        world.gpu_stream());
    FAIL() << "head_dim 4098 was accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("4098"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace reprise::testing
