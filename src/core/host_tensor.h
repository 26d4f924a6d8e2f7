// SPDX-License-Identifier: Apache-2.0
// A named, read-only tensor in host memory, usually a piece of a memory-mapped checkpoint.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <reprise/dtype.h>
#include <reprise/shape.h>

namespace reprise {

/// A value type: copying shares the data. `owner` keeps the memory behind `data` alive (null where
/// the maker of the tensor guarantees that itself). A default-made tensor stands for "not there".
struct HostTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  const void* data = nullptr;  ///< row-major, aligned to its dtype; may be null only if not there
  std::shared_ptr<const void> owner;

  explicit operator bool() const noexcept { return data != nullptr; }
  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(shape.elements()) * size_of(dtype);
  }
};

}  // namespace reprise
