// SPDX-License-Identifier: Apache-2.0
// What the tests of the kernels share: a host device, random inputs whose seed is shown when a test
// fails, weights of any type, and outputs that are poisoned and fenced.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/host.h>

#include "kernels/composed_ops.h"

namespace reprise::testing {

/// Instruction sets of this CPU that the vectorised primitives can be tested with.
std::vector<SimdLevel> usable_levels();
std::string name_of(SimdLevel level);

/// Poison of outputs: a NaN whose bits the kernels cannot produce by chance.
float poison() noexcept;
bool is_poison(float value) noexcept;

/// An array between two fences; the destructor fails the test when a fence was touched.
class Fenced {
 public:
  explicit Fenced(std::size_t count);
  ~Fenced();
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  float* data() noexcept { return all_.data() + kFence; }
  std::size_t size() const noexcept { return all_.size() - 2 * kFence; }
  std::span<float> span() noexcept { return {data(), size()}; }
  float& operator[](std::size_t i) noexcept { return data()[i]; }

 private:
  static constexpr std::size_t kFence = 64;
  std::vector<float> all_;
};

class World {
 public:
  explicit World(int threads = 2);

  /// Random numbers of a fresh seed; `trace()` belongs into a SCOPED_TRACE.
  std::mt19937_64& random() noexcept { return random_; }
  std::string trace() const { return "seed " + std::to_string(seed_); }
  /// What is drawn from here on follows from `seed` alone.
  void reseed(std::uint64_t seed);
  int between(int low, int high);
  /// Nearly so: none beyond 3.5 deviations. The tests draw more numbers than they do anything else.
  std::vector<float> normal(std::size_t count, float deviation = 1);
  DType float_type();

  /// Values rounded to `dtype`, stacked from `parts` pieces of rows; data lies at odd 2-byte or
  /// 4-byte addresses, as in a mapped file.
  Weight matrix(std::int64_t rows, std::int64_t cols, DType dtype, std::vector<std::int64_t> parts,
                float deviation = 1);
  Weight matrix(std::int64_t rows, std::int64_t cols, DType dtype) {
    return matrix(rows, cols, dtype, {rows});
  }
  Weight vector(std::int64_t length, float deviation = 1);
  HostTensor tensor(std::string name, DType dtype, const Shape& shape, float deviation = 1);

  Device& device() noexcept { return *device_; }
  Stream& stream() noexcept { return stream_; }
  Primitives& reference() noexcept { return *reference_; }
  std::unique_ptr<Primitives> simd(SimdLevel level) {
    return make_simd_primitives(*device_, level);
  }

 private:
  std::uint64_t seed_;
  std::mt19937_64 random_;
  std::shared_ptr<Device> device_;
  Stream stream_;
  std::unique_ptr<Primitives> reference_;
};

/// ‖a − b‖ / ‖b‖; infinite where a holds poison or a NaN. `least` stands in for a smaller ‖b‖: what
/// a sum that happens to cancel is made of has the rounding errors of its terms.
double relative_error(std::span<const float> a, std::span<const float> b, double least = 0);
/// True where all bits agree.
bool same_bits(std::span<const float> a, std::span<const float> b);

}  // namespace reprise::testing
