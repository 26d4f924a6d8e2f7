// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/batch.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pdl.cuh"

namespace reprise::cuda_kernels {
namespace {

constexpr int kThreads = 256;
constexpr ProgrammaticKernel kDeclared{
    .kernel = "embed_kernel", .waits = true, .triggers_early = true};

template <class T>
__global__ void embed_kernel(const T* table, std::int64_t vocabulary, int hidden, BatchInputs batch,
                             float* residual, int rows) {
  let_consumer_start();
  wait_for_producer();
  const int row = blockIdx.x;
  float* out = residual + std::int64_t{row} * hidden;
  const bool used = row < true_rows(batch, rows);
  const std::int64_t token = used ? batch.tokens[row] : 0;
  if (!used || token < 0 || token >= vocabulary) {
    const float value = used ? not_a_number() : 0.0f;
    for (int i = threadIdx.x; i < hidden; i += kThreads) out[i] = value;
    return;
  }
  const T* source = table + token * hidden;
  before_last_store();
  for (int i = threadIdx.x; i < hidden; i += kThreads) out[i] = to_float(source[i]);
}

}  // namespace

void embed(const EmbedDescriptor& descriptor, const EmbedArgs& args, int rows,
           const Target& target) {
  const Weight& table = *descriptor.table;
  with_type(table.dtype, "embed.table", [&]<class T>(TypeTag<T>) {
    const auto written = range_of(args.residual, rows * table.cols, DType::f32, "residual");
    launch(target, "embed", kDeclared, written, embed_kernel<T>, dim3(static_cast<unsigned>(rows)),
           dim3(kThreads), static_cast<const T*>(table.parts[0].data), table.rows,
           static_cast<int>(table.cols), args.batch, args.residual, rows);
  });
}

}  // namespace reprise::cuda_kernels
