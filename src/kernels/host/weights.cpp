// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/weights.h"

#include <numeric>
#include <utility>

#include <reprise/host.h>

#include "core/random_weights.h"
#include "kernels/host/elements.h"
#include "kernels/weight_checks.h"

namespace reprise {
namespace {

/// One f32 array that holds all parts one after the other.
std::shared_ptr<Buffer> converted(std::span<const HostTensor> parts, std::int64_t elements,
                                  Device& device) {
  auto buffer = std::make_shared<Buffer>(
      device.allocate(static_cast<std::size_t>(elements) * sizeof(float), "weights as f32"));
  auto* out = static_cast<float*>(buffer->data());
  for (const HostTensor& part : parts) {
    const std::int64_t count = part.shape.elements();
    for (std::int64_t i = 0; i < count; ++i) *out++ = load_element(part.dtype, part.data, i);
  }
  return buffer;
}

}  // namespace

Weight load_host_weight(std::span<const HostTensor> parts, WeightUse use, Stream& stream) {
  const auto [elements, same_type] = check_parts(parts, use);

  Weight weight;
  if (use == WeightUse::vector) {
    auto buffer = converted(parts, elements, stream.device());
    weight.rows = 1;
    weight.cols = elements;
    weight.parts = {{buffer->data(), elements}};
    weight.owner = std::move(buffer);
    return weight;
  }
  weight.cols = parts[0].shape[1];
  weight.rows = elements / weight.cols;
  if (!same_type) {
    auto buffer = converted(parts, elements, stream.device());
    weight.parts = {{buffer->data(), weight.rows}};
    weight.owner = std::move(buffer);
    return weight;
  }
  weight.dtype = parts[0].dtype;
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (const HostTensor& part : parts) {
    weight.parts.push_back({part.data, part.shape[0]});
    owners->push_back(part.owner);
  }
  weight.owner = std::move(owners);
  return weight;
}

void fill_random(DType dtype, void* tensor, std::uint64_t begin, std::uint64_t end,
                 std::uint64_t seed, float scale) {
  for (std::uint64_t i = begin; i < end; ++i) {
    store_element(dtype, tensor, static_cast<std::int64_t>(i), random_weight(seed, i, scale));
  }
}

Weight random_host_weight(std::span<const RandomPart> parts, std::int64_t cols, DType dtype,
                          std::uint64_t seed, float deviation, WeightUse use, Stream& stream,
                          RandomFill fill) {
  const bool vector = use == WeightUse::vector;
  const std::int64_t rows = check_random(parts, cols, dtype);
  Device& device = stream.device();
  auto buffer = std::make_shared<Buffer>(
      device.allocate(static_cast<std::size_t>(rows * cols) * size_of(dtype), "random weights"));
  Weight weight{.dtype = dtype, .rows = rows, .cols = cols, .parts = {}, .owner = buffer};
  auto* at = static_cast<std::byte*>(buffer->data());
  const float scale = random_scale(deviation);
  for (const RandomPart& part : parts) {
    const auto elements = static_cast<std::size_t>(part.rows * cols);
    weight.parts.push_back({at, part.rows});
    host::enqueue(stream, "random weights",
                  [&device, fill, dtype, at, elements, scale, s = tensor_seed(seed, part.name)] {
                    host::parallel_for(device, elements, 65536,
                                       [=](std::size_t begin, std::size_t end) {
                                         fill(dtype, at, begin, end, s, scale);
                                       });
                  });
    at += elements * size_of(dtype);
  }
  stream.synchronize();
  if (!vector) return weight;
  const HostTensor rounded{.name = parts[0].name,
                           .dtype = dtype,
                           .shape = Shape{rows * cols},
                           .data = buffer->data(),
                           .owner = buffer};
  return load_host_weight({&rounded, 1}, use, stream);
}

}  // namespace reprise
