// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/world.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/host/elements.h"

namespace reprise::testing {

std::vector<SimdLevel> usable_levels() {
  std::vector<SimdLevel> levels;
  for (const auto level : {SimdLevel::scalar, SimdLevel::avx2, SimdLevel::avx512}) {
    if (simd_level_usable(level)) levels.push_back(level);
  }
  return levels;
}

std::string name_of(SimdLevel level) {
  if (level == SimdLevel::avx512) return "avx512";
  return level == SimdLevel::avx2 ? "avx2" : "scalar";
}

float poison() noexcept { return std::bit_cast<float>(0xffa5a5a5u); }

bool is_poison(float value) noexcept { return std::bit_cast<std::uint32_t>(value) == 0xffa5a5a5u; }

Fenced::Fenced(std::size_t count) : all_(count + 2 * kFence, poison()) {}

Fenced::~Fenced() {
  for (std::size_t i = 0; i < kFence; ++i) {
    EXPECT_TRUE(is_poison(all_[i])) << "written " << kFence - i << " elements before the array";
    EXPECT_TRUE(is_poison(all_[all_.size() - 1 - i])) << "written behind the array";
  }
}

World::World(int threads)
    : seed_(std::random_device{}()),
      random_(seed_),
      device_(host::open({.threads = threads})),
      stream_(device_->create_stream("kernels")),
      reference_(make_reference_primitives(*device_)) {}

int World::between(int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random_);
}

void World::reseed(std::uint64_t seed) {
  seed_ = seed;
  random_.seed(seed);
}

std::vector<float> World::normal(std::size_t count, float deviation) {
  // The sum of four 16-bit numbers, made of one step of the splitmix64 generator.
  constexpr float kMean = 2.0f * 65535;
  constexpr float kDeviation = 37837.2f;  // 2^16 / sqrt(3)
  const float scale = deviation / kDeviation;
  std::uint64_t state = random_();
  std::vector<float> values(count);
  for (float& value : values) {
    std::uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    const std::uint64_t pairs = (x & 0x0000ffff0000ffffu) + (x >> 16 & 0x0000ffff0000ffffu);
    const auto sum = static_cast<std::int32_t>((pairs & 0xffffffffu) + (pairs >> 32));
    value = (static_cast<float>(sum) - kMean) * scale;
  }
  return values;
}

DType World::float_type() {
  return std::array{DType::f32, DType::f16, DType::bf16}[static_cast<std::size_t>(between(0, 2))];
}

HostTensor World::tensor(std::string name, DType dtype, const Shape& shape, float deviation) {
  const auto count = static_cast<std::size_t>(shape.elements());
  auto bytes = std::make_shared<std::vector<std::byte>>((count + 1) * size_of(dtype));
  const std::vector<float> values = normal(count, deviation);
  std::byte* data = bytes->data() + size_of(dtype);
  for (std::size_t i = 0; i < count; ++i) {
    store_element(dtype, data, static_cast<std::int64_t>(i), values[i]);
  }
  return {.name = std::move(name), .dtype = dtype, .shape = shape, .data = data, .owner = bytes};
}

Weight World::matrix(std::int64_t rows, std::int64_t cols, DType dtype,
                     std::vector<std::int64_t> parts, float deviation) {
  std::vector<HostTensor> tensors;
  std::int64_t total = 0;
  for (const std::int64_t part : parts) {
    tensors.push_back(tensor("part", dtype, Shape{part, cols}, deviation));
    total += part;
  }
  EXPECT_EQ(total, rows);
  return reference_->load(tensors, WeightUse::matrix, stream_);
}

Weight World::vector(std::int64_t length, float deviation) {
  const HostTensor values = tensor("vector", float_type(), Shape{length}, deviation);
  return reference_->load({&values, 1}, WeightUse::vector, stream_);
}

double relative_error(std::span<const float> a, std::span<const float> b, double least) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  const double size = std::max(least, std::sqrt(norm));
  const double error = std::sqrt(difference) / (size > 0 ? size : 1);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace reprise::testing
