// SPDX-License-Identifier: Apache-2.0
// Matrix product, over the vector type V. Each (output, row) has one accumulator whose lane i sums
// the products of k ≡ i modulo the width in ascending order, then one fixed tree: whatever tile,
// thread or number of rows, the bits are the same.
//
// Few rows: weights go straight into registers, and the few rows of weights of a tile stay cached
// from one group of rows to the next. Many rows: a panel of weights is turned into f32 once, sized
// to stay in the second-level cache, and all rows go over it. Either way each weight is read from
// memory once.
#pragma once

namespace reprise::simd {
namespace {

template <DType kType>
V::Reg load_as(const std::byte* p) {
  if constexpr (kType == DType::f32) return V::load(p);
  if constexpr (kType == DType::bf16) return V::load_bf16(p);
  if constexpr (kType == DType::f16) return V::load_f16(p);
}

template <DType kType>
V::Reg load_some_as(const std::byte* p, int n) {
  if constexpr (kType == DType::f32) return V::load_some(p, n);
  if constexpr (kType == DType::bf16) return V::load_bf16_some(p, n);
  if constexpr (kType == DType::f16) return V::load_f16_some(p, n);
}

inline void finish(const MatmulTask& task, std::int64_t output, std::int64_t row, float sum) {
  if (task.bias != nullptr) sum += task.bias[output];
  float& out = task.out[row * task.weight.rows + output];
  out = task.accumulate ? out + sum : sum;
}

/// Adds the products of columns [begin, end) of R rows and N outputs to `sums`; begin is a multiple
/// of the width. Works on a copy of the sums, for an array in memory might be what the inputs point
/// to, and would be written in every turn.
template <DType kType, int R, int N>
void accumulate_tile(const float* const (&inputs)[R], const std::byte* const (&weights)[N],
                     std::int64_t begin, std::int64_t end, V::Reg (&result)[R][N]) {
  V::Reg sums[R][N];
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) sums[r][n] = result[r][n];
  }
  constexpr std::int64_t kSize = size_of(kType);
  std::int64_t k = begin;
  for (; k + V::kWidth <= end; k += V::kWidth) {
    V::Reg w[N];
    for (int n = 0; n < N; ++n) w[n] = load_as<kType>(weights[n] + k * kSize);
    for (int r = 0; r < R; ++r) {
      const V::Reg x = V::load(inputs[r] + k);
      for (int n = 0; n < N; ++n) sums[r][n] = V::fma(w[n], x, sums[r][n]);
    }
  }
  if (const int rest = static_cast<int>(end - k); rest > 0) {
    for (int n = 0; n < N; ++n) {
      const V::Reg w = load_some_as<kType>(weights[n] + k * kSize, rest);
      for (int r = 0; r < R; ++r) {
        sums[r][n] = V::fma(w, V::load_some(inputs[r] + k, rest), sums[r][n]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) result[r][n] = sums[r][n];
  }
}

// ---- few rows ---------------------------------------------------------------------------------

template <DType kType, int R, int N>
void stream_tile(const MatmulTask& task, std::int64_t output, int row) {
  const std::int64_t cols = task.weight.cols;
  const float* inputs[R];
  const std::byte* weights[N];
  V::Reg sums[R][N];
  for (int r = 0; r < R; ++r) inputs[r] = task.input + (row + r) * cols;
  for (int n = 0; n < N; ++n) weights[n] = task.weight.row(output + n);
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) sums[r][n] = V::set(0);
  }
  accumulate_tile<kType, R, N>(inputs, weights, 0, cols, sums);
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) finish(task, output + n, row + r, V::sum(sums[r][n]));
  }
}

/// Calls f.operator()<R>(row) for groups of R rows that cover all rows: as few groups as tiles of
/// at most kMost rows allow, and as equal as possible, for small tiles cost as much as large ones.
template <int kMost, class F>
void call_with_rows(int count, int row, const F& f) {
  if constexpr (kMost > 1) {
    if (count < kMost) return call_with_rows<kMost - 1>(count, row, f);
  }
  f.template operator()<kMost>(row);
}

template <class F>
void for_row_groups(int rows, const F& f) {
  const int groups = (rows + V::kTileRows - 1) / V::kTileRows;
  int row = 0;
  for (int group = 0; group < groups; ++group) {
    const int count = (rows - row) / (groups - group);
    call_with_rows<V::kTileRows>(count, row, f);
    row += count;
  }
}

template <DType kType>
void stream(const MatmulTask& task, std::int64_t first, std::int64_t last) {
  const auto all_rows = [&]<int N>(std::int64_t output) {
    for_row_groups(task.rows, [&]<int R>(int row) { stream_tile<kType, R, N>(task, output, row); });
  };
  std::int64_t output = first;
  if (task.rows == 1) {
    for (; output + V::kStreamOutputs <= last; output += V::kStreamOutputs) {
      stream_tile<kType, 1, V::kStreamOutputs>(task, output, 0);
    }
  }
  for (; output + V::kTileOutputs <= last; output += V::kTileOutputs) {
    all_rows.template operator()<V::kTileOutputs>(output);
  }
  for (; output < last; ++output) all_rows.template operator()<1>(output);
}

// ---- many rows --------------------------------------------------------------------------------

constexpr std::int64_t kPanelFloats = 128 * 1024;
constexpr std::int64_t kBlock = 1024;  ///< columns whose inputs stay in the first-level cache
constexpr int kMaxPanel = 64;

/// Elements from one row of a panel to the next: an odd number of cache lines, lest all rows of a
/// tile fall into the same few sets of the cache.
inline std::int64_t panel_stride(std::int64_t cols) { return ((cols + 15) / 16 | 1) * 16; }

template <DType kType>
void fill_panel(const MatmulTask& task, std::int64_t output, int count, float* panel) {
  const std::int64_t cols = task.weight.cols;
  for (int n = 0; n < count; ++n) {
    const std::byte* source = task.weight.row(output + n);
    float* out = panel + n * panel_stride(cols);
    std::int64_t k = 0;
    for (; k + V::kWidth <= cols; k += V::kWidth) {
      V::store(out + k, load_as<kType>(source + k * std::int64_t(size_of(kType))));
    }
    if (k == cols) continue;
    const int rest = static_cast<int>(cols - k);
    V::store_some(out + k, load_some_as<kType>(source + k * std::int64_t(size_of(kType)), rest),
                  rest);
  }
}

/// One block of columns of R rows and N outputs; partial sums live in `saved` between blocks.
template <int R, int N>
void panel_tile(const float* input, const float* panel, std::int64_t cols, std::int64_t begin,
                std::int64_t end, V::Reg* saved) {
  const float* inputs[R];
  const std::byte* weights[N];
  V::Reg sums[R][N];
  for (int r = 0; r < R; ++r) inputs[r] = input + r * cols;
  for (int n = 0; n < N; ++n) {
    weights[n] = reinterpret_cast<const std::byte*>(panel + n * panel_stride(cols));
  }
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) sums[r][n] = begin == 0 ? V::set(0) : saved[n * R + r];
  }
  accumulate_tile<DType::f32, R, N>(inputs, weights, begin, end, sums);
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) saved[n * R + r] = sums[r][n];
  }
}

template <int R>
void panel_rows(const MatmulTask& task, std::int64_t output, int count, const float* panel,
                int row) {
  const std::int64_t cols = task.weight.cols;
  const float* input = task.input + row * cols;
  V::Reg saved[kMaxPanel * R];
  for (std::int64_t begin = 0; begin < cols; begin += kBlock) {
    const std::int64_t end = begin + kBlock < cols ? begin + kBlock : cols;
    int n = 0;
    for (; n + V::kTileOutputs <= count; n += V::kTileOutputs) {
      panel_tile<R, V::kTileOutputs>(input, panel + n * panel_stride(cols), cols, begin, end,
                                     saved + n * R);
    }
    for (; n < count; ++n) {
      panel_tile<R, 1>(input, panel + n * panel_stride(cols), cols, begin, end, saved + n * R);
    }
  }
  for (int n = 0; n < count; ++n) {
    for (int r = 0; r < R; ++r) finish(task, output + n, row + r, V::sum(saved[n * R + r]));
  }
}

template <DType kType>
void panels(const MatmulTask& task, std::int64_t first, std::int64_t last) {
  alignas(64) float panel[kPanelFloats];
  const std::int64_t fitting = kPanelFloats / panel_stride(task.weight.cols);
  const std::int64_t height = fitting < kMaxPanel ? fitting : kMaxPanel;
  for (std::int64_t output = first; output < last; output += height) {
    const int count = static_cast<int>(last - output < height ? last - output : height);
    fill_panel<kType>(task, output, count, panel);
    for_row_groups(task.rows,
                   [&]<int R>(int row) { panel_rows<R>(task, output, count, panel, row); });
  }
}

template <DType kType>
void matmul_of(const MatmulTask& task, std::int64_t first, std::int64_t last) {
  const bool fits = panel_stride(task.weight.cols) * V::kTileOutputs <= kPanelFloats;
  if (task.rows > 3 * V::kTileRows && fits) {
    panels<kType>(task, first, last);
  } else {
    stream<kType>(task, first, last);
  }
}

void matmul(const MatmulTask& task, std::int64_t first, std::int64_t last) {
  if (task.weight.dtype == DType::bf16) return matmul_of<DType::bf16>(task, first, last);
  if (task.weight.dtype == DType::f16) return matmul_of<DType::f16>(task, first, last);
  matmul_of<DType::f32>(task, first, last);
}

}  // namespace
}  // namespace reprise::simd
