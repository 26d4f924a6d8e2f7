// SPDX-License-Identifier: Apache-2.0
// Portable vector of eight floats; compilers turn its loops into whatever the baseline offers.
#pragma once

namespace reprise::simd {
namespace {

struct V {
  static constexpr int kWidth = 8;
  static constexpr int kTileRows = 2;
  static constexpr int kTileOutputs = 2;
  static constexpr int kStreamOutputs = 4;

  struct Reg {
    float lane[kWidth];
  };

  template <class F>
  static Reg each(F f) {
    Reg r;
    for (int i = 0; i < kWidth; ++i) r.lane[i] = f(i);
    return r;
  }
  static Reg set(float x) {
    return each([&](int) { return x; });
  }
  static Reg load(const void* p) {
    Reg r;
    std::memcpy(&r, p, sizeof r);
    return r;
  }
  static Reg load_some(const void* p, int n) {
    Reg r = set(0);
    std::memcpy(&r, p, static_cast<std::size_t>(n) * sizeof(float));
    return r;
  }
  static void store(float* p, Reg a) { std::memcpy(p, &a, sizeof a); }
  static void store_some(float* p, Reg a, int n) {
    std::memcpy(p, &a, static_cast<std::size_t>(n) * sizeof(float));
  }
  static Reg load_bf16_some(const void* p, int n) {
    std::uint16_t bits[kWidth] = {};
    std::memcpy(bits, p, static_cast<std::size_t>(n) * 2);
    return each([&](int i) { return float_from_bf16(bits[i]); });
  }
  static Reg load_f16_some(const void* p, int n) {
    std::uint16_t bits[kWidth] = {};
    std::memcpy(bits, p, static_cast<std::size_t>(n) * 2);
    return each([&](int i) { return float_from_f16(bits[i]); });
  }
  static Reg load_bf16(const void* p) { return load_bf16_some(p, kWidth); }
  static Reg load_f16(const void* p) { return load_f16_some(p, kWidth); }

  static Reg add(Reg a, Reg b) {
    return each([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static Reg sub(Reg a, Reg b) {
    return each([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  static Reg mul(Reg a, Reg b) {
    return each([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static Reg div(Reg a, Reg b) {
    return each([&](int i) { return a.lane[i] / b.lane[i]; });
  }
  static Reg fma(Reg a, Reg b, Reg c) {
    return each([&](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
  }
  /// The second where either is NaN, as the instruction does it.
  static Reg max(Reg a, Reg b) {
    return each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static Reg min(Reg a, Reg b) {
    return each([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static Reg round(Reg a) {
    return each([&](int i) { return std::nearbyint(a.lane[i]); });
  }
  /// 2 to the power of integers in [-126, 127].
  static Reg power_of_two(Reg n) {
    return each([&](int i) {
      return n.lane[i] == n.lane[i]
                 ? std::bit_cast<float>((static_cast<std::int32_t>(n.lane[i]) + 127) << 23)
                 : n.lane[i];
    });
  }
  static bool any_equal(Reg a, Reg b) {
    bool found = false;
    for (int i = 0; i < kWidth; ++i) found |= a.lane[i] == b.lane[i];
    return found;
  }
  static float sum(Reg a) {
    const float* x = a.lane;
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
  }
  static void sum4(Reg a, Reg b, Reg c, Reg d, float* out) {
    out[0] = sum(a);
    out[1] = sum(b);
    out[2] = sum(c);
    out[3] = sum(d);
  }
  static void prefetch(const void*) {}
};

}  // namespace
}  // namespace reprise::simd
