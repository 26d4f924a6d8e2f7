// SPDX-License-Identifier: Apache-2.0
// What the tests of the CUDA kernels share: a GPU beside the host's reference, and images. An image
// is one stretch of memory with all arrays of a case, laid out on the host; the reference works on
// one copy of it and the GPU on another, and afterwards every byte that is not an output must be
// what it was, fences between the arrays included.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/host/elements.h"
#include "kernels/support/world.h"

namespace reprise::testing {

using Bytes = std::vector<std::byte>;

class Image {
 public:
  template <class T>
  std::size_t add(const std::vector<T>& values) {
    return put(std::as_bytes(std::span(values)), false);
  }
  /// Floating-point values rounded to `dtype`.
  std::size_t add(DType dtype, const std::vector<float>& values, bool output = false) {
    if (dtype == DType::f32) return put(std::as_bytes(std::span(values)), output);
    std::vector<std::uint16_t> narrow(values.size());
    if (dtype == DType::bf16) {
      for (std::size_t i = 0; i < narrow.size(); ++i) narrow[i] = bf16_from_float(values[i]);
    } else {
      for (std::size_t i = 0; i < narrow.size(); ++i) narrow[i] = f16_from_float(values[i]);
    }
    return put(std::as_bytes(std::span(narrow)), output);
  }
  template <class T>
  std::size_t add_output(const std::vector<T>& values) {
    return put(std::as_bytes(std::span(values)), true);
  }
  /// An output of NaNs.
  std::size_t poisoned(DType dtype, std::size_t count) {
    Bytes bytes(count * size_of(dtype), std::byte{0xff});
    return put(bytes, true);
  }

  const Bytes& bytes() const noexcept { return bytes_; }
  Bytes& bytes() noexcept { return bytes_; }

  void expect_rest_untouched(const Bytes& after) const {
    std::size_t at = 0;
    for (const auto& [begin, end] : outputs_) {
      expect_same(after, at, begin);
      at = end;
    }
    expect_same(after, at, bytes_.size());
  }

 private:
  static constexpr std::size_t kAlignment = 256;  // and as much fence at least
  std::size_t put(std::span<const std::byte> values, bool output) {
    bytes_.resize((bytes_.size() + 2 * kAlignment - 1) / kAlignment * kAlignment, std::byte{0xa5});
    const std::size_t at = bytes_.size();
    bytes_.insert(bytes_.end(), values.begin(), values.end());
    if (output) outputs_.emplace_back(at, bytes_.size());
    bytes_.resize(bytes_.size() + kAlignment, std::byte{0xa5});
    return at;
  }
  void expect_same(const Bytes& after, std::size_t begin, std::size_t end) const {
    EXPECT_EQ(std::memcmp(after.data() + begin, bytes_.data() + begin, end - begin), 0)
        << "written outside the outputs, between bytes " << begin << " and " << end;
  }
  Bytes bytes_;
  std::vector<std::pair<std::size_t, std::size_t>> outputs_;
};

/// Enqueues the case's operation on the arrays that lie at `base`.
using Work = std::function<void(Primitives&, std::byte* base, Stream&)>;

class GpuWorld : public World {
 public:
  GpuWorld()
      : World(1),
        gpu_(Device::open("cuda")),
        gpu_stream_(gpu_->create_stream("kernels")),
        primitives_(make_cuda_primitives(*gpu_)) {}

  Device& gpu() noexcept { return *gpu_; }
  Stream& gpu_stream() noexcept { return gpu_stream_; }
  Primitives& cuda() noexcept { return *primitives_; }

  /// The image after `run` on the GPU.
  Bytes on_gpu(const Image& image, const Work& run) {
    const std::size_t bytes = image.bytes().size();
    if (arena_.bytes() < bytes) {
      arena_ = gpu_->allocate(bytes * 2, "image");
      staging_ = gpu_->allocate_pinned(bytes * 2, "image");
    }
    std::memcpy(staging_.data(), image.bytes().data(), bytes);
    gpu_stream_.copy(arena_.view(0, bytes), staging_.view(0, bytes));
    run(*primitives_, static_cast<std::byte*>(arena_.data()), gpu_stream_);
    gpu_stream_.copy(staging_.view(0, bytes), arena_.view(0, bytes));
    gpu_stream_.synchronize();
    const auto* after = static_cast<const std::byte*>(staging_.data());
    Bytes result(after, after + bytes);
    image.expect_rest_untouched(result);
    return result;
  }
  /// The same by the reference, whose storage types are `dtype`.
  Bytes on_host(const Image& image, DType dtype, const Work& run) {
    Bytes copy = image.bytes();
    const auto reference =
        make_reference_primitives(device(), {.activation = dtype, .cache = dtype});
    run(*reference, copy.data(), stream());
    stream().synchronize();
    return copy;
  }

  // Sizes are small for the most part, with a tail of large ones: a case costs what the reference
  // costs, and many shapes find more than large ones do.
  int rows() {
    const int roll = between(0, 9);
    if (roll < 4) return between(1, 8);
    return roll < 7 ? between(9, 64) : between(65, 130);
  }
  /// Between 1 and `most`.
  int size(int most) {
    const int roll = between(0, 9);
    if (roll < 6) return between(1, std::min(most, 48));
    return between(1, roll < 9 ? std::min(most, 320) : most);
  }
  /// Numbers that a case may draw, or products that it may take.
  int budget() {
    const int roll = between(0, 19);
    if (roll < 14) return 20'000;
    return roll < 19 ? 100'000 : 1'000'000;
  }

 private:
  std::shared_ptr<Device> gpu_;
  Stream gpu_stream_;
  std::unique_ptr<Primitives> primitives_;
  Buffer arena_;
  Buffer staging_;
};

template <class T>
T* at(std::byte* base, std::size_t offset) {
  return reinterpret_cast<T*>(base + offset);
}

inline std::vector<float> floats(const Bytes& bytes, std::size_t offset, DType dtype,
                                 std::size_t count) {
  std::vector<float> values(count);
  if (dtype == DType::f32) {
    std::memcpy(values.data(), bytes.data() + offset, count * sizeof(float));
    return values;
  }
  const auto* bits = reinterpret_cast<const std::uint16_t*>(bytes.data() + offset);
  if (dtype == DType::bf16) {
    for (std::size_t i = 0; i < count; ++i) values[i] = float_from_bf16(bits[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i) values[i] = float_from_f16(bits[i]);
  }
  return values;
}

inline bool same_bytes(const Bytes& a, std::size_t a_at, const Bytes& b, std::size_t b_at,
                       std::size_t count) {
  return std::memcmp(a.data() + a_at, b.data() + b_at, count) == 0;
}

/// One value more or less in the last place of the type it is stored in, or f32's own rounding.
inline double tolerance(DType dtype) {
  if (dtype == DType::f32) return 5e-6;
  return dtype == DType::f16 ? 1e-3 : 8e-3;
}

}  // namespace reprise::testing
