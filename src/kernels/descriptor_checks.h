// SPDX-License-Identifier: Apache-2.0
// Refusals of descriptors that contradict themselves. Each throws UsageError that names the field.
#pragma once

#include "kernels/ops.h"

namespace reprise {

void check_rows(int rows, const char* operation);
void check(const EmbedDescriptor& descriptor);
void check(const QkvDescriptor& descriptor);
void check(const AttendDescriptor& descriptor);
void check(const ProjectDescriptor& descriptor);
void check(const GateUpDescriptor& descriptor);
void check(const LogitsDescriptor& descriptor);
void check(const SelectDescriptor& descriptor);

}  // namespace reprise
