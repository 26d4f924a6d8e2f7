// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/demangle.h"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace reprise::cuda {

std::string demangled(const char* symbol) {
  if (symbol == nullptr) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : symbol;
}

}  // namespace reprise::cuda
