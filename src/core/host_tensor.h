// SPDX-License-Identifier: Apache-2.0
// A named tensor in host memory, usually a slice of a memory-mapped file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <reprise/dtype.h>
#include <reprise/shape.h>

namespace reprise {

struct HostTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  const void* data = nullptr;
  std::shared_ptr<const void> owner;  ///< keeps `data` alive (a mapped file)

  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(shape.elements()) * size_of(dtype);
  }
};

}  // namespace reprise
