// SPDX-License-Identifier: Apache-2.0
// Everything that goes over a row once, over the vector type V. Needs attend_body.inl for exp and
// matmul_body.inl for the loads.
#pragma once

namespace reprise::simd {
namespace {

void rms_norm(const float* input, const float* weight, float eps, float* out, int width) {
  V::Reg sums[4] = {V::set(0), V::set(0), V::set(0), V::set(0)};
  int i = 0;
  for (; i + 4 * V::kWidth <= width; i += 4 * V::kWidth) {
    for (int j = 0; j < 4; ++j) {
      const V::Reg x = V::load(input + i + j * V::kWidth);
      sums[j] = V::fma(x, x, sums[j]);
    }
  }
  for (; i < width; i += V::kWidth) {
    const V::Reg x = V::load_some(input + i, width - i < V::kWidth ? width - i : V::kWidth);
    sums[0] = V::fma(x, x, sums[0]);
  }
  const float squares = V::sum(V::add(V::add(sums[0], sums[1]), V::add(sums[2], sums[3])));
  const V::Reg scale = V::set(1 / std::sqrt(squares / static_cast<float>(width) + eps));
  for (i = 0; i + V::kWidth <= width; i += V::kWidth) {
    V::store(out + i, V::mul(V::mul(V::load(input + i), scale), V::load(weight + i)));
  }
  if (i == width) return;
  const int rest = width - i;
  V::store_some(
      out + i, V::mul(V::mul(V::load_some(input + i, rest), scale), V::load_some(weight + i, rest)),
      rest);
}

inline V::Reg silu_times(V::Reg gate, V::Reg up) {
  const V::Reg one = V::set(1);
  return V::mul(V::div(gate, V::add(one, exp(V::sub(V::set(0), gate)))), up);
}

void silu_mul(const float* gate, const float* up, float* out, int width) {
  int i = 0;
  for (; i + V::kWidth <= width; i += V::kWidth) {
    V::store(out + i, silu_times(V::load(gate + i), V::load(up + i)));
  }
  if (i == width) return;
  const int rest = width - i;
  V::store_some(out + i, silu_times(V::load_some(gate + i, rest), V::load_some(up + i, rest)),
                rest);
}

template <DType kType>
void convert_from(const std::byte* source, float* out, std::int64_t count) {
  constexpr std::int64_t kSize = size_of(kType);
  std::int64_t i = 0;
  for (; i + V::kWidth <= count; i += V::kWidth)
    V::store(out + i, load_as<kType>(source + i * kSize));
  if (i == count) return;
  const int rest = static_cast<int>(count - i);
  V::store_some(out + i, load_some_as<kType>(source + i * kSize, rest), rest);
}

void convert(DType dtype, const void* source, float* out, std::int64_t count) {
  const auto* bytes = static_cast<const std::byte*>(source);
  if (dtype == DType::bf16) return convert_from<DType::bf16>(bytes, out, count);
  if (dtype == DType::f16) return convert_from<DType::f16>(bytes, out, count);
  convert_from<DType::f32>(bytes, out, count);
}

void rotate(const float* head, const float* angles, float* out, int head_dim) {
  const int half = head_dim / 2;
  for (int i = 0; i < half; ++i) {
    const float cosine = angles[2 * i];
    const float sine = angles[2 * i + 1];
    const float a = head[i];
    const float b = head[half + i];
    out[i] = a * cosine - b * sine;
    out[half + i] = b * cosine + a * sine;
  }
}

Choice largest(const float* logits, int vocabulary) {
  V::Reg best = V::set(-INFINITY);
  int i = 0;
  for (; i + V::kWidth <= vocabulary; i += V::kWidth) best = V::max(V::load(logits + i), best);
  float lanes[V::kWidth];
  V::store(lanes, best);
  float top = -INFINITY;
  for (const float lane : lanes) top = lane > top ? lane : top;
  for (; i < vocabulary; ++i) top = logits[i] > top ? logits[i] : top;

  const V::Reg wanted = V::set(top);
  for (i = 0; i + V::kWidth <= vocabulary && !V::any_equal(V::load(logits + i), wanted);) {
    i += V::kWidth;
  }
  for (; i < vocabulary; ++i) {
    if (logits[i] == top) return {top, i};
  }
  return {};
}

Choice sample(const float* logits, float top, float temperature, std::uint64_t key, int first,
              int last) {
  Choice best;
  for (int token = first; token < last; ++token) {
    const float score =
        sampling_score(logits[token], top, temperature, sampling_uniform(key, token));
    if (best.token < 0 ? score == score : score > best.score) best = {score, token};
  }
  return best;
}

/// Elements whose index has the same high word; a plain loop that compilers vectorise.
template <class Store>
void fill_span(std::uint64_t begin, std::uint64_t end, std::uint64_t seed, float scale,
               const Store& store) {
  const std::uint64_t high = begin & ~std::uint64_t{0xffffffff};
  const auto first = static_cast<std::uint32_t>(begin);
  const auto count = static_cast<std::uint32_t>(end - begin);
  for (std::uint32_t i = 0; i < count; ++i) {
    store(i, random_weight(seed, high | (first + i), scale));
  }
}

void fill(DType dtype, void* tensor, std::uint64_t begin, std::uint64_t end, std::uint64_t seed,
          float scale) {
  constexpr std::uint64_t kSpan = 1u << 20;
  while (begin < end) {
    const std::uint64_t cut = (begin / kSpan + 1) * kSpan;
    const std::uint64_t stop = cut < end ? cut : end;
    auto* halves = static_cast<std::uint16_t*>(tensor) + begin;
    if (dtype == DType::f32) {
      auto* floats = static_cast<float*>(tensor) + begin;
      fill_span(begin, stop, seed, scale, [=](std::uint32_t i, float x) { floats[i] = x; });
    } else if (dtype == DType::bf16) {
      fill_span(begin, stop, seed, scale,
                [=](std::uint32_t i, float x) { halves[i] = bf16_from_float(x); });
    } else {
      fill_span(begin, stop, seed, scale,
                [=](std::uint32_t i, float x) { halves[i] = f16_from_float(x); });
    }
    begin = stop;
  }
}

constexpr KernelTable kTable{matmul, attend,  rms_norm, silu_mul, convert,
                             rotate, largest, sample,   fill};

}  // namespace
}  // namespace reprise::simd
