// SPDX-License-Identifier: Apache-2.0
// The three storage types on the device. Arithmetic is f32 everywhere; storing rounds to nearest,
// ties to even, as core/half.h does.
#pragma once

#include <cstdint>
#include <utility>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <reprise/dtype.h>

#include "kernels/cuda/launch.h"

namespace reprise::cuda_kernels {

using f16 = __half;
using bf16 = __nv_bfloat16;

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(f16 value) { return __half2float(value); }
__device__ __forceinline__ float to_float(bf16 value) { return __bfloat162float(value); }

template <class T>
__device__ __forceinline__ T from_float(float value);
template <>
__device__ __forceinline__ float from_float<float>(float value) {
  return value;
}
template <>
__device__ __forceinline__ f16 from_float<f16>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ __forceinline__ bf16 from_float<bf16>(float value) {
  return __float2bfloat16_rn(value);
}

/// Two neighbouring elements at an even index.
__device__ __forceinline__ float2 load_pair(const float* at) {
  return *reinterpret_cast<const float2*>(at);
}
__device__ __forceinline__ float2 load_pair(const f16* at) {
  return __half22float2(*reinterpret_cast<const __half2*>(at));
}
__device__ __forceinline__ float2 load_pair(const bf16* at) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(at));
}

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls body(TypeTag<T>) for the element type of `dtype`; `what` names the array in the refusal.
template <class Body>
void with_type(DType dtype, const char* what, Body&& body) {
  switch (dtype) {
    case DType::f32:
      return std::forward<Body>(body)(TypeTag<float>{});
    case DType::f16:
      return std::forward<Body>(body)(TypeTag<f16>{});
    case DType::bf16:
      return std::forward<Body>(body)(TypeTag<bf16>{});
    default:
      refuse_type(dtype, what);
  }
}

}  // namespace reprise::cuda_kernels
