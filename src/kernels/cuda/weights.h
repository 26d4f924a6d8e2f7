// SPDX-License-Identifier: Apache-2.0
// How a CUDA device holds weights: matrices row-major in their own type, all parts of a weight one
// after the other in one allocation; vectors as f32; parts of different types become f32.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "core/host_tensor.h"
#include "kernels/cuda/staged_upload.h"
#include "kernels/weight.h"

namespace reprise::cuda_kernels {

/// Thread safe.
class WeightLoader {
 public:
  /// Returns when all is on the device.
  Weight load(std::span<const HostTensor> parts, WeightUse use, Stream& stream);

 private:
  std::mutex mutex_;
  std::unique_ptr<StagedUpload> upload_;  ///< made by the first load
};

Weight random_weights(std::span<const RandomPart> parts, std::int64_t cols, DType dtype,
                      std::uint64_t seed, float deviation, WeightUse use, Stream& stream);

}  // namespace reprise::cuda_kernels
