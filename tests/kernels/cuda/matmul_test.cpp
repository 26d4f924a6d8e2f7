// SPDX-License-Identifier: Apache-2.0
// Matrix products against the reference, and what their bits may depend on (DESIGN §3).
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/cuda/random_cases.h"

namespace reprise::testing {
namespace {

struct Product {
  Product(GpuWorld& world, DType dtype_, int rows_, std::int64_t outputs_, std::int64_t cols_)
      : dtype(dtype_), rows(rows_), outputs(outputs_), cols(cols_) {
    accumulate = world.between(0, 1) == 1;
    with_bias = world.between(0, 1) == 1;
    cut = outputs > 1 ? world.between(1, static_cast<int>(outputs) - 1) : 0;
    const auto count = [](std::int64_t a, std::int64_t b) {
      return static_cast<std::size_t>(a * b);
    };
    input = world.normal(count(rows, cols));
    before = world.normal(count(rows, outputs));
    weight_at = image.add(dtype, world.normal(count(outputs, cols)));
    bias_at = image.add(world.normal(count(outputs, 1)));
    input_at = image.add(dtype, input);
    out_at =
        accumulate ? image.add_output(before) : image.poisoned(DType::f32, count(rows, outputs));
  }

  std::size_t row_bytes() const { return static_cast<std::size_t>(outputs) * sizeof(float); }

  /// Works on the rows [first, first + n).
  Work run(int first, int n) const {
    return [this, first, n](Primitives& primitives, std::byte* base, Stream& stream) {
      const std::int64_t element = static_cast<std::int64_t>(size_of(dtype));
      std::byte* const data = base + weight_at;
      Weight weight{.dtype = dtype, .rows = outputs, .cols = cols, .parts = {}, .owner = {}};
      if (cut > 0) weight.parts.push_back({data, cut});
      weight.parts.push_back({data + cut * cols * element, outputs - cut});
      const Weight bias{
          .rows = 1, .cols = outputs, .parts = {{base + bias_at, outputs}}, .owner = {}};
      primitives.matmul({.input = base + input_at + first * cols * element,
                         .input_dtype = dtype,
                         .weight = &weight,
                         .bias = with_bias ? &bias : nullptr,
                         .out = at<float>(base, out_at) + first * outputs,
                         .accumulate = accumulate,
                         .rows = n},
                        stream);
      stream.synchronize();  // the weights end here
    };
  }

  std::string describe() const {
    return std::string(to_string(dtype)) + " rows " + std::to_string(rows) + " outputs " +
           std::to_string(outputs) + " columns " + std::to_string(cols) +
           (accumulate ? " accumulate" : "") + (with_bias ? " bias" : "");
  }

  Image image;
  DType dtype;
  int rows;
  std::int64_t outputs, cols, cut = 0;
  bool accumulate = false, with_bias = false;
  std::vector<float> input, before;
  std::size_t weight_at = 0, bias_at = 0, input_at = 0, out_at = 0;
};

void expect_agreement(GpuWorld& world, const Product& product) {
  const auto count = static_cast<std::size_t>(product.rows * product.outputs);
  const Bytes actual = world.on_gpu(product.image, product.run(0, product.rows));
  const Bytes expected = world.on_host(product.image, product.dtype, product.run(0, product.rows));
  // The terms are about 1 in size.
  const double least = std::sqrt(static_cast<double>(count) * static_cast<double>(product.cols));
  EXPECT_LT(relative_error(floats(actual, product.out_at, DType::f32, count),
                           floats(expected, product.out_at, DType::f32, count), least),
            product.dtype == DType::f32 ? 3e-6 : 2e-5);
}

/// A size that is odd, a multiple of 8 or a multiple of 16, at most `most`.
int any_size(GpuWorld& world, int most) {
  const int unit = std::array{1, 1, 8, 16}[static_cast<std::size_t>(world.between(0, 3))];
  return most < unit ? world.size(most) : world.size(most / unit) * unit;
}

TEST(CudaMatmul, AgreesWithTheReferenceForAnyShape) {
  random_cases(Compared::with_reference, [](GpuWorld& world) {
    const int rows = world.rows();
    const int budget = world.budget();
    const int cols = any_size(world, std::clamp(budget / (rows * 8), 16, 3000));
    const int outputs = any_size(world, std::clamp(budget / (rows * cols), 1, 400));
    const Product product(world, world.float_type(), rows, outputs, cols);
    SCOPED_TRACE(product.describe());
    expect_agreement(world, product);
  });
}

TEST(CudaMatmul, AgreesWithTheReferenceForAModelsShapes) {
  GpuWorld world;
  SCOPED_TRACE(world.trace());
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const auto& [rows, outputs, cols] : std::initializer_list<std::array<int, 3>>{
             {1, 1024, 11008}, {8, 512, 4096}, {33, 256, 4096}, {64, 128, 4096}, {130, 96, 4096}}) {
      const Product product(world, dtype, rows, outputs, cols);
      SCOPED_TRACE(product.describe());
      expect_agreement(world, product);
    }
  }
}

// E3: buckets 1 to 64 agree bitwise, and neighbours full of NaNs change nothing.
TEST(CudaMatmul, BitsOfARowAreTheSameForOneToSixtyFourRows) {
  random_cases(Compared::with_itself, [](GpuWorld& world) {
    const int rows = world.between(1, 64);
    Product product(world, world.float_type(), rows, any_size(world, 300), any_size(world, 3000));
    SCOPED_TRACE(product.describe());
    const Bytes all = world.on_gpu(product.image, product.run(0, rows));
    const int first = world.between(0, rows - 1);
    const int count = world.between(1, rows - first);
    const std::size_t at = product.out_at + static_cast<std::size_t>(first) * product.row_bytes();
    const std::size_t bytes = static_cast<std::size_t>(count) * product.row_bytes();
    const Bytes part = world.on_gpu(product.image, product.run(first, count));
    ASSERT_TRUE(same_bytes(all, at, part, at, bytes)) << "rows " << first << " + " << count;

    for (int row = 0; row < rows; ++row) {
      if (row >= first && row < first + count) continue;
      for (std::int64_t i = 0; i < product.cols; ++i) {
        store_element(product.dtype, product.image.bytes().data() + product.input_at,
                      row * product.cols + i, std::numeric_limits<float>::quiet_NaN());
      }
    }
    const Bytes among_nans = world.on_gpu(product.image, product.run(0, rows));
    ASSERT_TRUE(same_bytes(all, at, among_nans, at, bytes)) << "beside rows of NaN";
  });
}

// E2 above 64 rows: which place a row has changes nothing.
TEST(CudaMatmul, BitsOfARowDoNotDependOnItsPlace) {
  random_cases(Compared::with_itself, [](GpuWorld& world) {
    const int rows = world.between(65, 520);
    Product product(world, world.float_type(), rows, any_size(world, 400), any_size(world, 2000));
    product.accumulate = false;
    SCOPED_TRACE(product.describe());
    const Bytes before = world.on_gpu(product.image, product.run(0, rows));
    const auto input_bytes = static_cast<std::size_t>(product.cols) * size_of(product.dtype);
    const Bytes original = product.image.bytes();
    const auto moved = [&](int row) { return static_cast<std::size_t>((row + 37) % rows); };
    for (int row = 0; row < rows; ++row) {
      std::memcpy(product.image.bytes().data() + product.input_at + moved(row) * input_bytes,
                  original.data() + product.input_at + static_cast<std::size_t>(row) * input_bytes,
                  input_bytes);
    }
    const Bytes after = world.on_gpu(product.image, product.run(0, rows));
    for (int row = 0; row < rows; ++row) {
      const std::size_t bytes = product.row_bytes();
      ASSERT_TRUE(same_bytes(before, product.out_at + static_cast<std::size_t>(row) * bytes, after,
                             product.out_at + moved(row) * bytes, bytes))
          << "row " << row;
    }
  });
}

TEST(CudaMatmul, CountsTheProductsThatCublasLtDoesNotTake) {
  GpuWorld world;
  std::vector<std::string> notes;
  world.cuda().set_on_note([&](std::string_view line) { notes.emplace_back(line); });
  const Product product(world, DType::bf16, 100, 8,
                        9);                         // rows of 18 bytes: the second is unaligned
  world.on_gpu(product.image, product.run(1, 40));  // too few rows to be cuBLASLt's
  EXPECT_TRUE(world.cuda().kernel_fallbacks().empty());
  for (int i = 0; i < 2; ++i) world.on_gpu(product.image, product.run(1, 80));
  const std::vector<KernelFallback> fallbacks = world.cuda().kernel_fallbacks();
  ASSERT_EQ(fallbacks.size(), 1u);
  EXPECT_EQ(fallbacks[0].reason, "matmul_unaligned");
  EXPECT_EQ(fallbacks[0].calls, 2u);
  ASSERT_EQ(notes.size(), 1u);
  for (const char* part : {"80 rows", "[8, 9]", "bf16", "not aligned", "matmul_unaligned"}) {
    EXPECT_NE(notes[0].find(part), std::string::npos) << part << " in " << notes[0];
  }
}

TEST(CudaMatmul, AnInputOfAnotherTypeIsRefused) {
  GpuWorld world;
  Product product(world, DType::bf16, 2, 8, 8);
  Weight weight{.dtype = DType::bf16,
                .rows = 8,
                .cols = 8,
                .parts = {{product.image.bytes().data(), 8}},
                .owner = {}};
  float out[16];
  EXPECT_THROW(world.cuda().matmul({.input = out, .weight = &weight, .out = out, .rows = 2},
                                   world.gpu_stream()),
               UsageError);
}

}  // namespace
}  // namespace reprise::testing
