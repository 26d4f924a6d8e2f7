// SPDX-License-Identifier: Apache-2.0
// Eight floats in an AVX register; needs AVX2, FMA and F16C.
#pragma once

namespace reprise::simd {
namespace {

struct V {
  static constexpr int kWidth = 8;
  static constexpr int kTileRows = 3;
  static constexpr int kTileOutputs = 4;
  static constexpr int kStreamOutputs = 8;

  using Reg = __m256;

  static Reg set(float x) { return _mm256_set1_ps(x); }
  static __m256i lanes_below(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Reg load(const void* p) { return _mm256_loadu_ps(static_cast<const float*>(p)); }
  static Reg load_some(const void* p, int n) {
    return _mm256_maskload_ps(static_cast<const float*>(p), lanes_below(n));
  }
  static void store(float* p, Reg a) { _mm256_storeu_ps(p, a); }
  static void store_some(float* p, Reg a, int n) { _mm256_maskstore_ps(p, lanes_below(n), a); }

  static __m128i load_16bit(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  static __m128i load_16bit_some(const void* p, int n) {
    alignas(16) std::uint16_t bits[kWidth] = {};
    std::memcpy(bits, p, static_cast<std::size_t>(n) * 2);
    return load_16bit(bits);
  }
  static Reg from_bf16(__m128i bits) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static Reg load_bf16(const void* p) { return from_bf16(load_16bit(p)); }
  static Reg load_bf16_some(const void* p, int n) { return from_bf16(load_16bit_some(p, n)); }
  static Reg load_f16(const void* p) { return _mm256_cvtph_ps(load_16bit(p)); }
  static Reg load_f16_some(const void* p, int n) { return _mm256_cvtph_ps(load_16bit_some(p, n)); }

  static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  static Reg div(Reg a, Reg b) { return _mm256_div_ps(a, b); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  /// The second where either is NaN.
  static Reg max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
  static Reg min(Reg a, Reg b) { return _mm256_min_ps(a, b); }
  static Reg round(Reg a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  /// 2 to the power of integers in [-126, 127].
  static Reg power_of_two(Reg n) {
    const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
  }
  static bool any_equal(Reg a, Reg b) {
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)) != 0;
  }
  static float sum(Reg a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  /// The four sums, each in the same order whichever argument it is.
  static void sum4(Reg a, Reg b, Reg c, Reg d, float* out) {
    const __m256 s = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1)));
  }
  static void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
};

}  // namespace
}  // namespace reprise::simd
