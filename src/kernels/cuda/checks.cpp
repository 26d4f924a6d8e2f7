// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <reprise/error.h>

#include "kernels/cuda/kernels.h"

namespace reprise::cuda_kernels {
namespace {

[[noreturn]] void refuse(const MatmulArgs& args, const std::string& fault) {
  throw UsageError(std::string(args.label) + ": " + fault);
}

/// The kernels take a stacked weight as one matrix.
bool in_one_piece(const Weight& weight) {
  const auto row_bytes = weight.cols * static_cast<std::int64_t>(size_of(weight.dtype));
  const auto* next = static_cast<const std::byte*>(weight.parts[0].data);
  for (const WeightPart& part : weight.parts) {
    if (part.data != next) return false;
    next += part.rows * row_bytes;
  }
  return true;
}

}  // namespace

void check_matmul(const MatmulArgs& args) {
  const Weight& weight = *args.weight;
  if (!in_one_piece(weight)) {
    refuse(args,
           "the weight's parts don't follow each other; load them by one call on this device");
  }
  if (args.input_dtype != weight.dtype) {
    refuse(args, "the input is " + std::string(to_string(args.input_dtype)) + " and the weight " +
                     std::string(to_string(weight.dtype)) + "; both must be of one type");
  }
  const bool must_be_f32 = args.accumulate || weight.dtype == DType::f32;
  if (must_be_f32 && args.out_dtype != DType::f32) {
    refuse(args, "the output is " + std::string(to_string(args.out_dtype)) + "; it must be f32");
  }
}

const float* vector_data(const Weight* weight, const char* what) {
  if (weight == nullptr) return nullptr;
  if (weight->dtype != DType::f32) {
    throw UsageError(std::string(what) + " is " + std::string(to_string(weight->dtype)) +
                     "; vectors must be loaded on this device, which makes them f32");
  }
  return static_cast<const float*>(weight->parts[0].data);
}

}  // namespace reprise::cuda_kernels
