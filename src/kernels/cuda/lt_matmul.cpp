// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/lt_matmul.h"

#include <cstdint>
#include <string>

#include <reprise/cuda.h>
#include <reprise/error.h>

#include "device/cuda/own_launch.h"
#include "kernels/cuda/kernels.h"

namespace reprise::cuda_kernels {
namespace {

constexpr std::uintptr_t kAlignment = 16;  // of all arrays, in bytes

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(std::string(call) + ": " + cublasLtGetStatusName(status) + ", " +
                        cublasLtGetStatusString(status),
                    static_cast<int>(status));
}

cudaDataType_t type_of(DType dtype) {
  if (dtype == DType::f32) return CUDA_R_32F;
  return dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_16F;
}

bool aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % kAlignment == 0; }

template <class Value>
void set(cublasLtMatmulDescOpaque_t& operation, cublasLtMatmulDescAttributes_t name,
         const Value& value) {
  check(cublasLtMatmulDescSetAttribute(&operation, name, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t name,
         const Value& value) {
  check(cublasLtMatmulPreferenceSetAttribute(&preference, name, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
}

cublasLtMatmulPreferenceOpaque_t preference() {
  cublasLtMatmulPreferenceOpaque_t result;
  check(cublasLtMatmulPreferenceInit(&result), "cublasLtMatmulPreferenceInit");
  set(result, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{0});
  set(result, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE));
  for (const auto name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(result, name, static_cast<std::uint32_t>(kAlignment));
  }
  return result;
}

}  // namespace

LtMatmul::LtMatmul() { check(cublasLtCreate(&handle_), "cublasLtCreate"); }

LtMatmul::~LtMatmul() { cublasLtDestroy(handle_); }

// cuBLASLt counts by columns: our row-major [rows, cols] is its [cols, rows].
LtMatmul::Choice LtMatmul::choose(const Key& key) const {
  Choice choice{};
  const auto cols = static_cast<std::uint64_t>(key.cols);
  const auto outputs = static_cast<std::uint64_t>(key.outputs);
  const auto rows = static_cast<std::uint64_t>(key.rows);
  check(cublasLtMatmulDescInit(&choice.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescInit");
  set(choice.operation, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  if (key.bias) {
    set(choice.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(choice.operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
  }
  const auto layout = [](cublasLtMatrixLayoutOpaque_t& out, DType type, std::uint64_t height,
                         std::uint64_t width) {
    check(cublasLtMatrixLayoutInit(&out, type_of(type), height, width,
                                   static_cast<std::int64_t>(height)),
          "cublasLtMatrixLayoutInit");
  };
  layout(choice.weight, key.dtype, cols, outputs);
  layout(choice.input, key.dtype, cols, rows);
  layout(choice.out, key.out_dtype, outputs, rows);
  cublasLtMatmulPreferenceOpaque_t wanted = preference();
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, &choice.operation, &choice.weight, &choice.input,
                                     &choice.out, &choice.out, &wanted, 1, &found, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0)) {
    return choice;
  }
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  choice.algorithm = found.algo;
  return choice;
}

const LtMatmul::Choice& LtMatmul::choice_for(const MatmulArgs& args, const Stream& stream) {
  const Key key{.dtype = args.weight->dtype,
                .out_dtype = args.out_dtype,
                .bias = args.bias != nullptr,
                .outputs = args.weight->rows,
                .cols = args.weight->cols,
                .rows = args.rows};
  const std::lock_guard lock(mutex_);
  const auto known = choices_.find(key);
  if (known != choices_.end()) return known->second;
  if (stream.recording()) {
    throw UsageError(std::string(args.label) + " of " + std::to_string(args.rows) +
                     " rows has not run before this recording; warm the step up first, so that "
                     "its algorithm is chosen outside");
  }
  return choices_.emplace(key, choose(key)).first->second;
}

LtAnswer LtMatmul::run(const MatmulArgs& args, Stream& stream) {
  const void* weight = args.weight->parts[0].data;
  if (!aligned(weight) || !aligned(args.input) || !aligned(args.out)) return LtAnswer::unaligned;
  Choice choice = choice_for(args, stream);  // a copy: the calls below take no const
  if (!choice.algorithm) return LtAnswer::no_algorithm;
  if (args.bias != nullptr) {
    const float* bias = vector_data(args.bias, "bias");
    set(choice.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  const float alpha = 1;
  const float beta = args.accumulate ? 1.0f : 0.0f;
  // Launched plainly. Where the library overlaps kernels of its own, it sees to their waits.
  const cudaStream_t native = cuda::own_launch_handle(stream);
  const cublasStatus_t status = cublasLtMatmul(
      handle_, &choice.operation, &alpha, weight, &choice.weight, args.input, &choice.input, &beta,
      args.out, &choice.out, args.out, &choice.out, &*choice.algorithm, nullptr, 0, native);
  // The library does not say that a recording was lost; this does, and throws then.
  const std::size_t bytes =
      static_cast<std::size_t>(args.rows * args.weight->rows) * size_of(args.out_dtype);
  const DeclaredRange written{.data = args.out, .bytes = bytes, .label = "product"};
  cuda::note_own_launch(stream, "matmul",
                        {.programmatic = false,
                         .waits = true,
                         .triggers_early = false,
                         .prefetches = {},
                         .writes = {&written, 1}},
                        true, {}, cudaGetLastError());
  check(status, args.label);
  return LtAnswer::enqueued;
}

}  // namespace reprise::cuda_kernels
