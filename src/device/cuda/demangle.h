// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace reprise::cuda {

/// A kernel's name as its source has it, with parameters; what is no C++ name stays, null is "".
std::string demangled(const char* symbol);

}  // namespace reprise::cuda
