// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/lt_fallbacks.h"

#include <string>
#include <utility>

namespace reprise::cuda_kernels {
namespace {

const char* name_of(LtAnswer reason) {
  return reason == LtAnswer::unaligned ? "matmul_unaligned" : "matmul_no_algorithm";
}

std::string note_of(LtAnswer reason, const MatmulArgs& args) {
  return std::string("the product '") + args.label + "' of " + std::to_string(args.rows) +
         " rows with a weight of [" + std::to_string(args.weight->rows) + ", " +
         std::to_string(args.weight->cols) + "] in " + std::string(to_string(args.weight->dtype)) +
         " runs by the generic kernel: " +
         (reason == LtAnswer::unaligned ? "an array is not aligned to 16 bytes"
                                        : "cuBLASLt has no algorithm for it") +
         " (reason " + name_of(reason) + ", counted from now on, not reported again)";
}

}  // namespace

void LtFallbacks::count(LtAnswer reason, const MatmulArgs& args) {
  const std::uint64_t before = calls_[static_cast<std::size_t>(reason)].fetch_add(1);
  if (before == 0 && on_note_) on_note_(note_of(reason, args));
}

std::vector<KernelFallback> LtFallbacks::counts() const {
  std::vector<KernelFallback> result;
  for (const LtAnswer reason : {LtAnswer::unaligned, LtAnswer::no_algorithm}) {
    const std::uint64_t calls = calls_[static_cast<std::size_t>(reason)].load();
    if (calls > 0) result.push_back({.reason = name_of(reason), .calls = calls});
  }
  return result;
}

}  // namespace reprise::cuda_kernels
