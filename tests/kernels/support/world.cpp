// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/world.h"

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

std::vector<float> World::normal(std::size_t count, float deviation) {
  std::normal_distribution<float> draw(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = draw(random_);
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

double relative_error(std::span<const float> a, std::span<const float> b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  const double error = std::sqrt(difference) / (norm > 0 ? std::sqrt(norm) : 1);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace reprise::testing
