// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/simd/read_all.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <reprise/host.h>

namespace reprise::simd {
namespace {

/// Bytes that one step of the loops below reads; every thread but the last gets a multiple of it.
constexpr std::size_t kStride = 512;
/// A thread's smallest share.
constexpr std::size_t kShare = std::size_t{1} << 20;

/// Exclusive or of all 32-bit words; the last is filled up with zeros.
std::uint32_t xor_scalar(const std::byte* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (; at + sizeof(sum) <= bytes; at += sizeof(sum)) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, sizeof(word));
    sum ^= word;
  }
  std::uint64_t rest = 0;
  if (at < bytes) std::memcpy(&rest, data + at, bytes - at);
  sum ^= rest;
  return static_cast<std::uint32_t>(sum) ^ static_cast<std::uint32_t>(sum >> 32);
}

#if defined(__x86_64__)
// Several sums, so that no load waits for the one before.

__attribute__((target("avx512f"))) std::uint32_t xor_avx512(const std::byte* data,
                                                            std::size_t bytes) {
  __m512i sums[8] = {};
  for (std::size_t at = 0; at + kStride <= bytes; at += kStride) {
    for (std::size_t i = 0; i < 8; ++i) {
      sums[i] = _mm512_xor_si512(sums[i], _mm512_loadu_si512(data + at + 64 * i));
    }
  }
  for (std::size_t i = 1; i < 8; ++i) sums[0] = _mm512_xor_si512(sums[0], sums[i]);
  alignas(64) std::byte words[64];
  _mm512_store_si512(words, sums[0]);
  const std::size_t done = bytes / kStride * kStride;
  return xor_scalar(words, sizeof(words)) ^ xor_scalar(data + done, bytes - done);
}

__attribute__((target("avx2"))) std::uint32_t xor_avx2(const std::byte* data, std::size_t bytes) {
  __m256i sums[8] = {};
  for (std::size_t at = 0; at + kStride <= bytes; at += kStride) {
    for (std::size_t i = 0; i < 16; ++i) {
      const auto* place = reinterpret_cast<const __m256i*>(data + at + 32 * i);
      sums[i % 8] = _mm256_xor_si256(sums[i % 8], _mm256_loadu_si256(place));
    }
  }
  for (std::size_t i = 1; i < 8; ++i) sums[0] = _mm256_xor_si256(sums[0], sums[i]);
  alignas(32) std::byte words[32];
  _mm256_store_si256(reinterpret_cast<__m256i*>(words), sums[0]);
  const std::size_t done = bytes / kStride * kStride;
  return xor_scalar(words, sizeof(words)) ^ xor_scalar(data + done, bytes - done);
}
#endif

using XorWords = std::uint32_t (*)(const std::byte* data, std::size_t bytes);

XorWords widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return xor_avx512;
  if (__builtin_cpu_supports("avx2")) return xor_avx2;
#endif
  return xor_scalar;
}

}  // namespace

void enqueue_read_all(Device& device, const void* data, std::size_t bytes, std::uint32_t* sink,
                      Stream& stream) {
  const auto* first = static_cast<const std::byte*>(data);
  host::enqueue(stream, "read_all", [&device, first, bytes, sink, xor_words = widest()] {
    std::atomic<std::uint32_t> sum{0};
    const std::size_t strides = (bytes + kStride - 1) / kStride;
    host::parallel_for(device, strides, kShare / kStride, [&](std::size_t begin, std::size_t end) {
      const std::size_t last = std::min(end * kStride, bytes);
      sum ^= xor_words(first + begin * kStride, last - begin * kStride);
    });
    *sink = sum;
  });
}

}  // namespace reprise::simd
