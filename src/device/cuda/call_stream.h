// SPDX-License-Identifier: Apache-2.0
// Finds the stream among the parameters of a call that CUPTI reports.
#pragma once

#include <optional>
#include <string_view>

#include <cuda_runtime_api.h>

namespace reprise::cuda {

/// None where the call has no stream, or is not known. `function` without a variant's suffix.
std::optional<cudaStream_t> stream_of(std::string_view function, const void* parameters) noexcept;

}  // namespace reprise::cuda
