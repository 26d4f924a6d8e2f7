// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/weights.h"

#include <cstring>

#include "core/random_weights.h"
#include "kernels/cuda/kernels.h"
#include "kernels/host/elements.h"
#include "kernels/weight_checks.h"

namespace reprise::cuda_kernels {
namespace {

/// Bytes of `part` as they are, or widened to f32.
StagedUpload::Source source_of(const HostTensor& part, DType stored) {
  if (part.dtype == stored) {
    return [&part](std::size_t offset, std::size_t count, std::byte* to) {
      std::memcpy(to, static_cast<const std::byte*>(part.data) + offset, count);
    };
  }
  return [&part](std::size_t offset, std::size_t count, std::byte* to) {
    const auto first = static_cast<std::int64_t>(offset / sizeof(float));
    const auto values = static_cast<std::int64_t>(count / sizeof(float));
    for (std::int64_t i = 0; i < values; ++i) {
      store_element(DType::f32, to, i, load_element(part.dtype, part.data, first + i));
    }
  };
}

/// An empty weight of `elements` elements; a vector has one part, a matrix gets its parts later.
Weight allocate(DType stored, std::int64_t elements, std::int64_t cols, WeightUse use,
                Device& device) {
  auto buffer = std::make_shared<Buffer>(
      device.allocate(static_cast<std::size_t>(elements) * size_of(stored), "weights"));
  Weight weight{.dtype = stored, .rows = 1, .cols = elements, .parts = {}, .owner = buffer};
  if (use == WeightUse::vector) {
    weight.parts = {{buffer->data(), elements}};
  } else {
    weight.cols = cols;
    weight.rows = elements / cols;
  }
  return weight;
}

std::byte* data_of(const Weight& weight) {
  return static_cast<std::byte*>(static_cast<const Buffer*>(weight.owner.get())->data());
}

}  // namespace

Weight WeightLoader::load(std::span<const HostTensor> parts, WeightUse use, Stream& stream) {
  const auto [elements, same_type] = check_parts(parts, use);
  const bool vector = use == WeightUse::vector;
  const DType stored = vector || !same_type ? DType::f32 : parts[0].dtype;
  const std::int64_t cols = vector ? 1 : parts[0].shape[1];
  Weight weight = allocate(stored, elements, cols, use, stream.device());

  const std::lock_guard lock(mutex_);
  if (!upload_) upload_ = std::make_unique<StagedUpload>(stream.device());
  std::byte* at = data_of(weight);
  for (const HostTensor& part : parts) {
    const std::size_t bytes = static_cast<std::size_t>(part.shape.elements()) * size_of(stored);
    upload_->put(at, bytes, source_of(part, stored), stream);
    if (!vector) weight.parts.push_back({at, part.shape[0]});
    at += bytes;
  }
  stream.synchronize();  // the weight may be used on any stream
  return weight;
}

Weight random_weights(std::span<const RandomPart> parts, std::int64_t cols, DType dtype,
                      std::uint64_t seed, float deviation, WeightUse use, Stream& stream) {
  const std::int64_t rows = check_random(parts, cols, dtype);
  const bool vector = use == WeightUse::vector;
  const DType stored = vector ? DType::f32 : dtype;
  Weight weight = allocate(stored, rows * cols, cols, use, stream.device());
  std::byte* at = data_of(weight);
  for (const RandomPart& part : parts) {
    const std::int64_t elements = part.rows * cols;
    fill_random(at, dtype, stored, elements, tensor_seed(seed, part.name), random_scale(deviation),
                stream);
    if (!vector) weight.parts.push_back({at, part.rows});
    at += static_cast<std::size_t>(elements) * size_of(stored);
  }
  stream.synchronize();
  return weight;
}

}  // namespace reprise::cuda_kernels
