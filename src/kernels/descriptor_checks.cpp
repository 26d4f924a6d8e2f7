// SPDX-License-Identifier: Apache-2.0
#include "kernels/descriptor_checks.h"

#include <cmath>

#include <reprise/error.h>

namespace reprise {
namespace {

[[noreturn]] void refuse(const std::string& field, const std::string& fault) {
  throw UsageError(field + " " + fault);
}

void check_matrix(const Weight* weight, const std::string& field) {
  if (weight == nullptr) refuse(field, "is missing");
  std::int64_t rows = 0;
  for (const WeightPart& part : weight->parts) rows += part.data == nullptr ? 0 : part.rows;
  if (weight->rows < 1 || weight->cols < 1 || rows != weight->rows) {
    refuse(field, "is a matrix of " + std::to_string(weight->rows) + " rows and " +
                      std::to_string(weight->cols) + " columns with data for " +
                      std::to_string(rows) + " rows; load it first");
  }
}

void check_rows_of(const Weight* weight, std::int64_t rows, const std::string& field,
                   const std::string& meaning) {
  check_matrix(weight, field);
  if (weight->rows == rows) return;
  refuse(field, "has " + std::to_string(weight->rows) + " rows; " + meaning + " needs " +
                    std::to_string(rows));
}

void check_vector(const Weight* weight, std::int64_t length, const std::string& field) {
  if (weight == nullptr) refuse(field, "is missing");
  if (weight->rows != 1 || weight->cols != length || weight->parts.empty() ||
      weight->parts[0].data == nullptr) {
    refuse(field, "has " + std::to_string(weight->rows * weight->cols) +
                      " elements; expected a vector of " + std::to_string(length));
  }
}

void check_bias(const Weight* bias, std::int64_t length, const std::string& field) {
  if (bias != nullptr) check_vector(bias, length, field);
}

void check_eps(float eps, const std::string& field) {
  if (!(eps >= 0) || !std::isfinite(eps)) {
    refuse(field, "is " + std::to_string(eps) + "; expected a finite number, 0 or above");
  }
}

void check_geometry(const HeadGeometry& geometry, const std::string& field) {
  if (geometry.heads < 1) {
    refuse(field + ".heads", "is " + std::to_string(geometry.heads) + "; at least 1 is needed");
  }
  if (geometry.kv_heads < 1 || geometry.heads % geometry.kv_heads != 0) {
    refuse(field + ".kv_heads", "is " + std::to_string(geometry.kv_heads) +
                                    "; it must divide heads, which is " +
                                    std::to_string(geometry.heads));
  }
  if (geometry.head_dim < 2 || geometry.head_dim % 2 != 0) {
    refuse(field + ".head_dim",
           "is " + std::to_string(geometry.head_dim) + "; it must be even and at least 2");
  }
}

}  // namespace

void check_rows(int rows, const char* operation) {
  if (rows < 1) {
    refuse(operation, "was planned for " + std::to_string(rows) + " rows; at least 1 is needed");
  }
}

void check(const EmbedDescriptor& descriptor) { check_matrix(descriptor.table, "embed.table"); }

void check(const QkvDescriptor& descriptor) {
  const HeadGeometry& geometry = descriptor.geometry;
  check_geometry(geometry, "qkv.geometry");
  const std::int64_t rows =
      (std::int64_t{geometry.heads} + 2 * std::int64_t{geometry.kv_heads}) * geometry.head_dim;
  check_rows_of(descriptor.weight, rows, "qkv.weight", "qkv.geometry");
  check_vector(descriptor.norm, descriptor.weight->cols, "qkv.norm");
  check_bias(descriptor.bias, rows, "qkv.bias");
  check_eps(descriptor.norm_eps, "qkv.norm_eps");
  if (descriptor.rope == nullptr) refuse("qkv.rope", "is missing");
  if (descriptor.rope_positions < 1) {
    refuse("qkv.rope_positions",
           "is " + std::to_string(descriptor.rope_positions) + "; at least 1 is needed");
  }
}

void check(const AttendDescriptor& descriptor) {
  check_geometry(descriptor.geometry, "attend.geometry");
  if (!std::isfinite(descriptor.scale)) refuse("attend.scale", "is not finite");
  if (descriptor.window < 0) {
    refuse("attend.window",
           "is " + std::to_string(descriptor.window) + "; use 0 for no window, else 1 or more");
  }
}

void check(const ProjectDescriptor& descriptor) {
  check_matrix(descriptor.weight, "project.weight");
  check_bias(descriptor.bias, descriptor.weight->rows, "project.bias");
}

void check(const GateUpDescriptor& descriptor) {
  check_matrix(descriptor.weight, "gate_up.weight");
  if (descriptor.weight->rows % 2 != 0) {
    refuse("gate_up.weight", "has " + std::to_string(descriptor.weight->rows) +
                                 " rows; gate and up need equally many");
  }
  check_vector(descriptor.norm, descriptor.weight->cols, "gate_up.norm");
  check_bias(descriptor.bias, descriptor.weight->rows, "gate_up.bias");
  check_eps(descriptor.norm_eps, "gate_up.norm_eps");
}

void check(const LogitsDescriptor& descriptor) {
  check_matrix(descriptor.weight, "logits.weight");
  check_vector(descriptor.norm, descriptor.weight->cols, "logits.norm");
  check_eps(descriptor.norm_eps, "logits.norm_eps");
}

void check(const SelectDescriptor& descriptor) {
  if (descriptor.vocabulary < 1) {
    refuse("select.vocabulary",
           "is " + std::to_string(descriptor.vocabulary) + "; at least 1 is needed");
  }
}

}  // namespace reprise
