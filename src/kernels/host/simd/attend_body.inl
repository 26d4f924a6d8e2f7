// SPDX-License-Identifier: Apache-2.0
// Attention with a running softmax, over the vector type V. A row's entries are taken in chunks cut
// at fixed positions, so that its bits depend on nothing but its own position. Heads that share
// keys take each chunk in turn while it is in the first-level cache.
#pragma once

namespace reprise::simd {
namespace {

constexpr int kChunk = 2 * kPageTokens;
constexpr int kHeadBlock = 16;

/// Relative error below 2e-7 on [-87, 88]; clamped outside, NaN stays NaN.
inline V::Reg exp(V::Reg x) {
  x = V::min(V::set(88.0f), V::max(V::set(-87.0f), x));
  const V::Reg n = V::round(V::mul(x, V::set(0x1.715476p+0f)));
  // ln 2 in two parts, the first short enough for n times it to be exact.
  V::Reg r = V::fma(n, V::set(-0x1.62e4p-1f), x);
  r = V::fma(n, V::set(-0x1.7f7d1cp-20f), r);
  V::Reg p = V::set(1.0f / 5040);
  p = V::fma(p, r, V::set(1.0f / 720));
  p = V::fma(p, r, V::set(1.0f / 120));
  p = V::fma(p, r, V::set(1.0f / 24));
  p = V::fma(p, r, V::set(1.0f / 6));
  p = V::fma(p, r, V::set(0.5f));
  p = V::fma(p, r, V::set(1.0f));
  p = V::fma(p, r, V::set(1.0f));
  return V::mul(p, V::power_of_two(n));
}

/// Running state of one head; the weighted sum itself lies in the output.
struct Softmax {
  float largest;
  float sum;
};

/// q · k of `count` entries, four at a time.
inline void chunk_scores(const float* q, const float* const* keys, int count, int head_dim,
                         float scale, float* scores) {
  for (int j = 0; j < count; j += 4) {
    const float* k[4];
    V::Reg sums[4];
    for (int i = 0; i < 4; ++i) {
      k[i] = keys[j + i < count ? j + i : j];
      sums[i] = V::set(0);
    }
    int d = 0;
    for (; d + V::kWidth <= head_dim; d += V::kWidth) {
      const V::Reg x = V::load(q + d);
      for (int i = 0; i < 4; ++i) sums[i] = V::fma(x, V::load(k[i] + d), sums[i]);
    }
    if (d < head_dim) {
      const V::Reg x = V::load_some(q + d, head_dim - d);
      for (int i = 0; i < 4; ++i) {
        sums[i] = V::fma(x, V::load_some(k[i] + d, head_dim - d), sums[i]);
      }
    }
    V::sum4(sums[0], sums[1], sums[2], sums[3], scores + j);
  }
  for (int j = 0; j < kChunk; ++j) scores[j] = j < count ? scores[j] * scale : -INFINITY;
}

/// Turns scores into weights relative to the new largest; returns the factor for what was summed
/// before.
inline float chunk_weights(Softmax& state, float* scores) {
  float largest = state.largest;
  for (int j = 0; j < kChunk; ++j) largest = scores[j] > largest ? scores[j] : largest;
  const float factor = state.largest == largest ? 1.0f : std::exp(state.largest - largest);
  V::Reg sum = V::set(0);
  for (int j = 0; j < kChunk; j += V::kWidth) {
    const V::Reg score = V::load(scores + j);
    const V::Reg weight = exp(V::sub(score, V::set(largest)));
    V::store(scores + j, weight);
    sum = V::add(sum, weight);
  }
  state.largest = largest;
  state.sum = state.sum * factor + V::sum(sum);
  return factor;
}

/// out = out · factor + Σ weight · value for N vectors of features from d on.
template <int N>
void add_values(const float* weights, const float* const* values, int count, float factor, int d,
                float* out) {
  V::Reg sums[N];
  for (int i = 0; i < N; ++i) {
    sums[i] = V::mul(V::load(out + d + i * V::kWidth), V::set(factor));
  }
  for (int j = 0; j < count; ++j) {
    const V::Reg weight = V::set(weights[j]);
    for (int i = 0; i < N; ++i) {
      sums[i] = V::fma(weight, V::load(values[j] + d + i * V::kWidth), sums[i]);
    }
  }
  for (int i = 0; i < N; ++i) V::store(out + d + i * V::kWidth, sums[i]);
}

inline void chunk_values(const float* weights, const float* const* values, int count, float factor,
                         int head_dim, float* out) {
  int d = 0;
  for (; d + 4 * V::kWidth <= head_dim; d += 4 * V::kWidth) {
    add_values<4>(weights, values, count, factor, d, out);
  }
  for (; d + V::kWidth <= head_dim; d += V::kWidth) {
    add_values<1>(weights, values, count, factor, d, out);
  }
  if (d == head_dim) return;
  const int rest = head_dim - d;
  V::Reg sum = V::mul(V::load_some(out + d, rest), V::set(factor));
  for (int j = 0; j < count; ++j) {
    sum = V::fma(V::set(weights[j]), V::load_some(values[j] + d, rest), sum);
  }
  V::store_some(out + d, sum, rest);
}

/// One chunk of a sequence's entries: where they lie.
struct Chunk {
  int begin;  ///< a multiple of kChunk
  int end;
  const float* keys[kChunk];
  const float* values[kChunk];
};

inline void find_entries(const AttendTask& task, int end, Chunk& chunk) {
  const int cut = chunk.begin + kChunk;
  chunk.end = cut < end ? cut : end;
  for (int j = 0; j < chunk.end - chunk.begin; ++j) {
    const int entry = chunk.begin + j;
    const std::int64_t slot =
        std::int64_t{task.pages[entry / kPageTokens]} * kPageTokens + entry % kPageTokens;
    chunk.keys[j] = task.keys + slot * task.entry_stride;
    chunk.values[j] = task.values + slot * task.entry_stride;
  }
}

inline int first_seen(const AttendTask& task, int position) {
  return task.window == 0 || position < task.window ? 0 : position + 1 - task.window;
}

/// What the row at `position` sees of the chunk, for heads [first, first + heads) of the group.
void attend_chunk(const AttendTask& task, const Chunk& chunk, int row, int first, int heads,
                  Softmax* states) {
  const int position = task.position + row;
  const int seen = first_seen(task, position);
  const int begin = seen > chunk.begin ? seen - chunk.begin : 0;
  const int end = (position + 1 < chunk.end ? position + 1 : chunk.end) - chunk.begin;
  if (begin >= end) return;
  alignas(64) float scores[kChunk];
  for (int h = 0; h < heads; ++h) {
    const std::int64_t at = row * task.row_stride + std::int64_t{first + h} * task.head_dim;
    chunk_scores(task.q + at, chunk.keys + begin, end - begin, task.head_dim, task.scale, scores);
    const float factor = chunk_weights(states[h], scores);
    chunk_values(scores, chunk.values + begin, end - begin, factor, task.head_dim, task.out + at);
  }
}

void attend_heads(const AttendTask& task, int first, int heads) {
  Softmax states[AttendTask::kMaxRows][kHeadBlock];
  const int width = heads * task.head_dim;
  for (int row = 0; row < task.rows; ++row) {
    float* out = task.out + row * task.row_stride + first * task.head_dim;
    for (int h = 0; h < heads; ++h) states[row][h] = {-INFINITY, 0};
    for (int i = 0; i < width; ++i) out[i] = 0;
  }
  Chunk chunk;
  chunk.begin = first_seen(task, task.position) / kChunk * kChunk;
  for (; chunk.begin < task.position + task.rows; chunk.begin += kChunk) {
    find_entries(task, task.position + task.rows, chunk);
    for (int row = 0; row < task.rows; ++row) {
      attend_chunk(task, chunk, row, first, heads, states[row]);
    }
  }
  for (int row = 0; row < task.rows; ++row) {
    float* out = task.out + row * task.row_stride + first * task.head_dim;
    for (int h = 0; h < heads; ++h) {
      const float factor = 1 / states[row][h].sum;
      for (int i = 0; i < task.head_dim; ++i) out[h * task.head_dim + i] *= factor;
    }
  }
}

void attend(const AttendTask& task) {
  for (int head = 0; head < task.group; head += kHeadBlock) {
    attend_heads(task, head, task.group - head < kHeadBlock ? task.group - head : kHeadBlock);
  }
}

}  // namespace
}  // namespace reprise::simd
