// SPDX-License-Identifier: Apache-2.0
#include "kernels/weight_checks.h"

#include <string>

#include <reprise/error.h>

namespace reprise {
namespace {

bool floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

void check_part(const HostTensor& part, const HostTensor& first, WeightUse use) {
  const std::string name = "tensor '" + part.name + "'";
  if (part.data == nullptr) throw UsageError(name + " has no data");
  if (!floating(part.dtype)) {
    throw UsageError(name + " is " + std::string(to_string(part.dtype)) +
                     "; weights must be f32, f16 or bf16");
  }
  const std::size_t rank = use == WeightUse::vector ? 1 : 2;
  if (part.shape.rank() != rank || part.shape.elements() == 0) {
    throw UsageError(name + " has shape " + to_string(part.shape) + "; expected " +
                     (rank == 1 ? "a vector" : "a matrix") + " that is not empty");
  }
  if (rank == 2 && part.shape[1] != first.shape[1]) {
    throw UsageError(name + " has " + std::to_string(part.shape[1]) + " columns, '" + first.name +
                     "' has " + std::to_string(first.shape[1]) + "; stacked tensors must agree");
  }
}

}  // namespace

PartTotals check_parts(std::span<const HostTensor> parts, WeightUse use) {
  if (parts.empty()) throw UsageError("a weight needs at least one tensor");
  PartTotals totals;
  for (const HostTensor& part : parts) {
    check_part(part, parts[0], use);
    totals.same_type = totals.same_type && part.dtype == parts[0].dtype;
    totals.elements += part.shape.elements();
  }
  return totals;
}

std::int64_t check_random(std::span<const RandomPart> parts, std::int64_t cols, DType dtype) {
  if (parts.empty()) throw UsageError("a weight needs at least one tensor");
  if (!floating(dtype)) throw UsageError("random weights must be f32, f16 or bf16");
  std::int64_t rows = 0;
  for (const RandomPart& part : parts) {
    if (part.rows < 1 || cols < 1) {
      throw UsageError("tensor '" + part.name + "' of " + std::to_string(part.rows) + " rows and " +
                       std::to_string(cols) + " columns; both must be at least 1");
    }
    rows += part.rows;
  }
  return rows;
}

}  // namespace reprise
