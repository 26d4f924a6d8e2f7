// SPDX-License-Identifier: Apache-2.0
// Sixteen floats in an AVX-512 register; needs AVX-512 F, BW, VL and DQ.
#pragma once

namespace reprise::simd {
namespace {

struct V {
  static constexpr int kWidth = 16;
  static constexpr int kTileRows = 6;
  static constexpr int kTileOutputs = 4;
  static constexpr int kStreamOutputs = 8;

  using Reg = __m512;

  static Reg set(float x) { return _mm512_set1_ps(x); }
  static __mmask16 lanes_below(int n) { return static_cast<__mmask16>((1u << n) - 1u); }
  static Reg load(const void* p) { return _mm512_loadu_ps(p); }
  static Reg load_some(const void* p, int n) { return _mm512_maskz_loadu_ps(lanes_below(n), p); }
  static void store(float* p, Reg a) { _mm512_storeu_ps(p, a); }
  static void store_some(float* p, Reg a, int n) { _mm512_mask_storeu_ps(p, lanes_below(n), a); }

  static __m256i load_16bit(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static __m256i load_16bit_some(const void* p, int n) {
    return _mm256_maskz_loadu_epi16(lanes_below(n), p);
  }
  static Reg from_bf16(__m256i bits) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static Reg load_bf16(const void* p) { return from_bf16(load_16bit(p)); }
  static Reg load_bf16_some(const void* p, int n) { return from_bf16(load_16bit_some(p, n)); }
  static Reg load_f16(const void* p) { return _mm512_cvtph_ps(load_16bit(p)); }
  static Reg load_f16_some(const void* p, int n) { return _mm512_cvtph_ps(load_16bit_some(p, n)); }

  static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  static Reg div(Reg a, Reg b) { return _mm512_div_ps(a, b); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  /// The second where either is NaN.
  static Reg max(Reg a, Reg b) { return _mm512_max_ps(a, b); }
  static Reg min(Reg a, Reg b) { return _mm512_min_ps(a, b); }
  static Reg round(Reg a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  /// 2 to the power of integers in [-126, 127].
  static Reg power_of_two(Reg n) { return _mm512_scalef_ps(_mm512_set1_ps(1), n); }
  static bool any_equal(Reg a, Reg b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ) != 0; }

  static __m256 halves_sum(Reg a) {
    return _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  }
  static float sum(Reg a) {
    const __m256 h = halves_sum(a);
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  /// The four sums, each in the same order whichever argument it is.
  static void sum4(Reg a, Reg b, Reg c, Reg d, float* out) {
    const __m256 s = _mm256_hadd_ps(_mm256_hadd_ps(halves_sum(a), halves_sum(b)),
                                    _mm256_hadd_ps(halves_sum(c), halves_sum(d)));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1)));
  }
  static void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
};

}  // namespace
}  // namespace reprise::simd
