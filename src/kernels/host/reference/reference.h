// SPDX-License-Identifier: Apache-2.0
// The oracle: one plain function per primitive, float64 inside, one thread. Speed is no concern;
// being obviously right is.
#pragma once

#include "kernels/composed_ops.h"
#include "kernels/host/weight_view.h"
#include "kernels/primitives.h"

namespace reprise::reference {

void embed(const WeightView& table, const EmbedArgs& args, int rows);
void rms_norm(const RmsNormArgs& args, const WeightView& weight);
void matmul(const MatmulArgs& args, const WeightView& weight, const WeightView& bias);
void rotate_append(const RotateAppendArgs& args);
void attend(const AttendDescriptor& descriptor, const AttendArgs& args, int rows, DType activation);
void silu_mul(const SiluMulArgs& args);
void select(const SelectDescriptor& descriptor, const SelectArgs& args, int rows);
std::uint32_t xor_words(const void* data, std::size_t bytes);

}  // namespace reprise::reference
